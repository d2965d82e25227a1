/** What the parts of a running session share: how to speak, what time it is, and what may be done. */
import type { BuiltinSays, BuiltinTodo } from "../dialects/builtin.ts";
import type { Plugins } from "../runtime/plugins/plugins.ts";
import type { BuiltinSettings } from "./config.ts";
import type { Gate } from "./gate.ts";
import type { FileLedger, ToolContext } from "./tools/tool.ts";

/** The hooks of loaded plugins that belong to this agent; the others are asked elsewhere, for every agent. */
export type Hooks = Pick<Plugins, "has" | "trigger">;

export const noHooks: Hooks = { has: () => false, trigger: async (_hook, _input, output) => output };

/** The world outside, so that tests can stand in for it. */
export interface World {
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** How long a provider may say nothing in the middle of an answer. */
  readonly idleMs: number;
}

export interface SessionContext {
  readonly sessionId: string;
  readonly directory: string;
  readonly outputDirectory: string;
  readonly dataDirectory: string | null;
  readonly settings: BuiltinSettings;
  readonly hooks: Hooks;
  readonly world: World;
  readonly gate: Gate;
  readonly files: FileLedger;
  readonly commandEnvironment: Readonly<Record<string, string>>;
  readonly processes: ToolContext["processes"];
  readonly view: ToolContext["view"];
  readonly ripgrep: string | null;
  /** Says a line; resolves when the reader has room again. */
  readonly say: (line: BuiltinSays) => Promise<void>;
  readonly todos: {
    readonly read: () => readonly BuiltinTodo[];
    readonly write: (todos: readonly BuiltinTodo[]) => void;
  };
  /** Ids that no other item of the session has. */
  readonly nextId: (kind: "msg" | "cmp" | "sub" | "ntc") => string;
  readonly ownCallId: (native: string) => string;
}
