/** What the ACP adapter remembers: its own session, those of subagents, open tool calls, and requests of both sides. */
import type { AgentCommand } from "../../core/agent-io.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { ItemHead } from "../../core/report.ts";
import { type RpcId, type RpcState, startRpc } from "../../core/rpc.ts";
import type { AcpToolContent } from "../../dialects/acp.ts";
import type { BackgroundWork, SlashCommand } from "../../protocol/events.ts";
import type { Subagent } from "../../protocol/items.ts";
import { type Grants, startGrants } from "./grants.ts";
import type { Quirks } from "./quirks.ts";

/** What a request of ours was for. */
export type Purpose =
  | { readonly type: "initialize" }
  | { readonly type: "authenticate" }
  /** `drops`: the past is replayed before the answer; we have it already. */
  | { readonly type: "open"; readonly drops: boolean; readonly session: string | null }
  | { readonly type: "set"; readonly what: string }
  | { readonly type: "prompt" }
  | { readonly type: "other" };

/** A native session: our own, or a subagent's. */
export interface Thread {
  readonly id: string;
  readonly subagent: Subagent | null;
  /** The text that is being written. */
  block: Block | null;
  /** The message item that tool calls belong to; null after the model has been asked again. */
  parent: string | null;
  message: string | null;
  /** A tool was called since the last text: the next one is another message. */
  called: boolean;
  /** Its status item is open. */
  working: boolean;
}

export interface Block {
  readonly key: string;
  readonly part: "text" | "reasoning";
  readonly messageId: string | null;
}

export interface Call {
  readonly id: string;
  readonly key: string;
  readonly thread: Thread;
  readonly name: string;
  title: string;
  kind: string;
  status: string | null;
  input: unknown;
  /** Its arguments are complete: the call is closed, its result open. */
  called: boolean;
  /** Output that was sent on. */
  output: string;
  content: readonly AcpToolContent[];
  locations: readonly string[];
  rawOutput: unknown;
  exitCode: number | null;
  rejected: boolean;
}

/** A request of the agent. */
export interface Incoming {
  readonly id: RpcId;
  readonly method: string;
  readonly params: unknown;
}

/** One that waits for a person, or for the edge. */
export interface Asked {
  readonly id: RpcId;
  readonly type: "permission" | "question" | "host";
  readonly method: string;
  readonly params: unknown;
  readonly callId: string | null;
}

/** A prompt in a recording that the agent has not begun. */
export interface WaitingPrompt {
  readonly item: ItemHead;
  readonly host: number | undefined;
}

export interface State {
  readonly quirks: Quirks;
  readonly rpc: RpcState<Purpose>;
  options: LaunchOptions | null;
  /** The agent's command line, for errors. */
  command: string;
  /** Variables that hold its credentials. */
  keys: readonly string[];
  /** `overdue`: it has not answered `initialize` in time and is being stopped. */
  phase: "none" | "initializing" | "overdue" | "opening" | "ready" | "failed";
  version: number;
  /** The answer to `initialize`, and what the session was opened with. */
  agent: Readonly<Record<string, unknown>>;
  opened: Readonly<Record<string, unknown>>;
  session: string | null;
  /** Slash commands of the agent; null until it has named them. */
  commands: readonly SlashCommand[] | null;
  readonly threads: Map<string, Thread>;
  readonly calls: Map<string, Call>;
  /** Terminals of ours, with the call they were made for; `shown`: how much of their output was sent on. */
  readonly terminals: Map<string, { call: string | null; shown: number }>;
  readonly grants: Grants;
  readonly asked: Map<string, Asked>;
  readonly background: Map<string, BackgroundWork & { readonly call_id: string }>;
  waiting: AgentCommand[];
  /** Requests that must be answered before the session takes prompts. */
  settings: number;
  /** Prompts sent and not answered. */
  prompts: number;
  readonly queued: WaitingPrompt[];
  /** The agent works, by our prompt or by itself. */
  turn: "none" | "asked" | "unasked";
  /** What happened in this turn so far. */
  said: boolean;
  cancelled: boolean;
  rejected: boolean;
  failure: string | null;
  /** The agent has said that it is in trouble; its next words are the reason. */
  alarmed: boolean;
  /** The past is being repeated for a session that has no name yet. */
  forked: boolean;
  /** Attachments of a prompt that are being read. */
  attaching: { prompt: Extract<AgentCommand, { type: "prompt" }>; missing: number; blocks: unknown[] } | null;
  counter: number;
  hostCalls: number;
  at: number;
  turnAt: number;
}

export const start = (quirks: Quirks): State => ({
  quirks,
  rpc: startRpc({ prefix: "", versioned: true }),
  options: null,
  command: "",
  keys: [],
  phase: "none",
  version: 1,
  agent: {},
  opened: {},
  session: null,
  commands: null,
  threads: new Map(),
  calls: new Map(),
  terminals: new Map(),
  grants: startGrants(),
  asked: new Map(),
  background: new Map(),
  waiting: [],
  settings: 0,
  prompts: 0,
  queued: [],
  turn: "none",
  said: false,
  cancelled: false,
  rejected: false,
  failure: null,
  alarmed: false,
  forked: false,
  attaching: null,
  counter: 0,
  hostCalls: 0,
  at: 0,
  turnAt: 0,
});

/** Live, we are connected and may speak; a recording is only read. */
export const isLive = (state: State): boolean => state.options !== null;

/** A request for a session is open: what is said of it comes before its name. */
export const isOpening = ({ rpc }: State): boolean => {
  for (const { context } of rpc.pending.values()) if (context.type === "open") return true;
  return false;
};

/** The thread of a native session. The first one heard of is our own, unless a request for one is open. */
export function threadOf(state: State, id: string): Thread {
  state.session ??= id;
  const known = state.threads.get(id);
  if (known !== undefined) return known;
  return addThread(state, { id, subagent: id === state.session ? null : { id, parent_call_id: null } });
}

export function addThread(state: State, { id, subagent }: Pick<Thread, "id" | "subagent">): Thread {
  const thread: Thread = {
    id,
    subagent,
    block: null,
    parent: null,
    message: null,
    called: false,
    working: false,
  };
  state.threads.set(id, thread);
  return thread;
}

/** A key that no other item of the session has: names of agents repeat from turn to turn. */
export function nextKey(state: State, name: string): string {
  state.counter += 1;
  return `${state.turnAt}/${state.counter}/${name}`;
}
