/** What the Codex adapter remembers: its own thread, the threads of spawned agents, and requests of both sides. */
import type { AgentCommand } from "../../core/agent-io.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import { type RpcId, type RpcState, startRpc } from "../../core/rpc.ts";
import { noTokens } from "../../core/tokens.ts";
import type { FileChange } from "../../dialects/codex.ts";
import type { SessionChange } from "../../protocol/commands.ts";
import type { BackgroundWork, Tokens } from "../../protocol/events.ts";
import type { Subagent } from "../../protocol/items.ts";

/** What a request of ours was for. `overheard` ones were sent by the host of a recording. */
export type Purpose =
  | { readonly type: "initialize" }
  | { readonly type: "thread"; readonly resumed: boolean }
  | { readonly type: "turn" }
  | { readonly type: "steer" }
  /** Compaction and a shell command run as turns without a prompt. */
  | { readonly type: "own" }
  /** `own`: of the session's own turn, by us. */
  | { readonly type: "interrupt"; readonly own: boolean }
  | { readonly type: "other" };

/** A tool item that has no result yet. */
export interface RunningTool {
  readonly callId: string;
  readonly title: string;
  readonly isCommand: boolean;
  /** The arguments were complete when it began, so the call is closed and the result open. */
  readonly called: boolean;
  readonly changes: readonly FileChange[];
}

export interface Thread {
  readonly id: string;
  /** The spawned agent whose thread this is; null for the session's own. */
  subagent: Subagent | null;
  /** The native turn that is running. */
  turn: string | null;
  /** Tokens counted so far; null when the thread has a past that we do not know yet. */
  counted: Tokens | null;
  /** Model calls seen, and the message item that tool calls of the present one belong to. */
  modelStep: number;
  stepUsed: boolean;
  parent: string | null;
  /** Blocks still being written, with the item they are of. */
  readonly blocks: Map<string, "text" | "reasoning">;
  readonly tools: Map<string, RunningTool>;
  /** How many times a spawned agent has begun, and at what; its status item is open while `working`. */
  runs: number;
  task: string;
  working: boolean;
}

/** A request of Codex's that waits for a person, with what its answer needs. */
export interface Asked {
  readonly id: RpcId;
  readonly method: string;
  readonly type: "permission" | "question";
  readonly params: unknown;
}

export interface State {
  readonly rpc: RpcState<Purpose>;
  options: LaunchOptions | null;
  /** `none`: there is no thread yet, or it must be opened again. Replays never leave it. */
  phase: "none" | "initializing" | "opening" | "ready";
  /** Whether this session has tried to initialize the connection itself. */
  introduced: boolean;
  thread: string | null;
  readonly threads: Map<string, Thread>;
  model: string | null;
  /** What was asked for after the thread was opened; it goes with every turn. */
  change: SessionChange;
  /** Commands that wait until the thread is there. */
  waiting: AgentCommand[];
  readonly asked: Map<string, Asked>;
  /** Calls that spawned an agent, by the agent's thread. */
  readonly spawnedBy: Map<string, string>;
  /** Commands that outlive their turn, by item key. */
  readonly background: Map<string, BackgroundWork & { readonly call_id: string }>;
  /** Items that ended with their turn: what Codex says about them later is no news. */
  readonly dropped: Set<string>;
  /** Notices have no names, so they are numbered; with the time, because a new connection starts at zero. */
  notices: number;
  at: number;
  /** What was said about the connection before the session was announced. */
  early: Report[];
  /** Somebody asked for a turn: the next `turn/started` is theirs. */
  requested: boolean;
  /** We, or the host of a recording, interrupted the running turn. */
  interrupted: boolean;
  /** An abort came before Codex sent the turn's id. */
  interruptWhenKnown: boolean;
  /** An approval was answered with `cancel`, which ends the turn. */
  cancelled: boolean;
  diff: string | null;
}

export const start = (): State => ({
  rpc: startRpc({ prefix: "", versioned: false }),
  options: null,
  phase: "none",
  introduced: false,
  thread: null,
  threads: new Map(),
  model: null,
  change: {},
  waiting: [],
  asked: new Map(),
  spawnedBy: new Map(),
  background: new Map(),
  dropped: new Set(),
  notices: 0,
  at: 0,
  early: [],
  requested: false,
  interrupted: false,
  interruptWhenKnown: false,
  cancelled: false,
  diff: null,
});

/** For a new connection: what the process knew is gone with it. Only the counter of requests goes on. */
export function reset(state: State, at: number): void {
  Object.assign(state, start(), { rpc: state.rpc, at });
}

/** Live, we are connected and may speak; a recording is only listened to. */
export const isLive = (state: State): boolean => state.options !== null;

/** The thread of a line. The first one heard of is the session's own; others are of agents it spawned. */
export function threadOf(state: State, id: string): Thread {
  state.thread ??= id;
  const known = state.threads.get(id);
  if (known !== undefined) return known;
  const isOwn = id === state.thread;
  const thread: Thread = {
    id,
    subagent: isOwn ? null : { id, parent_call_id: state.spawnedBy.get(id) ?? null },
    turn: null,
    counted: noTokens(),
    modelStep: 0,
    stepUsed: false,
    parent: null,
    blocks: new Map(),
    tools: new Map(),
    runs: 0,
    task: id,
    working: false,
  };
  state.threads.set(id, thread);
  return thread;
}

export const ownThread = (state: State): Thread | null =>
  state.thread === null ? null : (state.threads.get(state.thread) ?? null);

/** The items of one model call share a message id: Codex has items, but no messages. */
export const messageId = (thread: Thread, turnId: string): string => `${turnId}/${thread.modelStep}`;

/** A model call is over; the next one has its own message. */
export function endModelStep(thread: Thread): void {
  if (!thread.stepUsed) return;
  thread.modelStep += 1;
  thread.stepUsed = false;
  thread.parent = null;
}
