/** What a plugin may hook into. Names and shapes are OpenCode's where OpenCode has them; `turn.*` are our own. */
import type { EndReason, Evidence, Todo } from "../../protocol/events.ts";

interface Call {
  readonly tool: string;
  readonly sessionID: string;
  readonly callID: string;
}

/** Each hook reads its input and may change its output in place. */
export interface HookTable {
  /** After each text part of the builtin agent: what it leaves in `text` is what everybody reads. */
  "experimental.text.complete": {
    input: { readonly sessionID: string; readonly messageID: string; readonly partID: string };
    output: { text: string };
  };
  "tool.execute.before": { input: Call; output: { args: unknown } };
  "tool.execute.after": {
    input: Call & { readonly args: unknown };
    output: { title: string; output: string; metadata: unknown };
  };
  /** Any agent's permission request: `allow` and `deny` answer it, `ask` leaves it to a person. */
  "permission.ask": {
    input: {
      readonly id: string;
      readonly type: string;
      readonly sessionID: string;
      readonly title: string;
      readonly pattern: readonly string[];
      readonly metadata: unknown;
    };
    output: { status: "ask" | "deny" | "allow" };
  };
  "experimental.session.compacting": {
    input: { readonly sessionID: string };
    output: { context: string[]; prompt?: string };
  };
  /** Every event, as OpenCode's clients see it. */
  event: { input: { readonly event: unknown }; output: undefined };
  /** A turn is about to settle: leave a proposal to go on. The governor decides. */
  "turn.settle": {
    input: { readonly sessionID: string; readonly turnID: string; readonly todos: readonly Todo[] };
    output: { continue: { reason: string; prompt: string } | null };
  };
  "turn.ended": {
    input: {
      readonly sessionID: string;
      readonly turnID: string;
      readonly reason: EndReason;
      readonly evidence: Evidence;
      readonly error: string | null;
    };
    output: undefined;
  };
}

export type HookName = keyof HookTable;
export type HookInput<Name extends HookName> = HookTable[Name]["input"];
export type HookOutput<Name extends HookName> = HookTable[Name]["output"];

export const hookNames: readonly HookName[] = [
  "experimental.text.complete",
  "tool.execute.before",
  "tool.execute.after",
  "permission.ask",
  "experimental.session.compacting",
  "event",
  "turn.settle",
  "turn.ended",
];

export type Hook = (input: unknown, output: unknown) => unknown;

/** What a plugin function is called with, besides its options. */
export interface PluginContext {
  readonly directory: string;
  readonly worktree: string;
  readonly project: { readonly id: string; readonly worktree: string };
  /** An OpenCode SDK client of our own `/opencode` surface. */
  readonly client: unknown;
  readonly $: unknown;
}

/** An async function that returns hooks. */
export type Plugin = (context: PluginContext, options: Readonly<Record<string, unknown>>) => unknown;
