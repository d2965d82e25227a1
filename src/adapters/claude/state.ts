/** What the adapter remembers of a conversation. It forgets at every result what later lines cannot speak of. */

import { noTokens } from "../../core/tokens.ts";
import type { ClaudeUsage, JsonObject } from "../../dialects/claude.ts";
import type { BackgroundWork, Tokens } from "../../protocol/events.ts";
import type { Subagent } from "../../protocol/items.ts";
import type { Attaching } from "./attach.ts";
import type { KnownTodo } from "./todos.ts";

/** One block of a message that was begun. Tool calls are items of their own and named by their call. */
export interface Block {
  readonly key: string;
  readonly type: "text" | "thinking" | "tool";
  /** Begun by stream events and not yet sent as a whole. */
  open: boolean;
}

export interface Message {
  /** Null where stream lines came without a `message_start`; the next whole message is the same one. */
  readonly id: string | null;
  readonly subagent: Subagent | undefined;
  /** By ordinal: the stream's `index`, or the order of arrival. */
  readonly blocks: Map<number, Block>;
  next: number;
  /** The latest message item, which is the parent of a tool call. */
  parent: string | null;
  streamed: boolean;
  usage: ClaudeUsage;
}

export interface Tool {
  readonly name: string;
  input: unknown;
  readonly subagent: Subagent | undefined;
  /** Its arguments are complete and its result was begun. */
  called: boolean;
}

/** A request of the CLI that waits for our answer, with what the answer must repeat. */
export type Asked = { readonly call: string | null; readonly input: JsonObject } & (
  | { readonly type: "permission" }
  | { readonly type: "question"; readonly questions: readonly AskedQuestion[] }
  | { readonly type: "plan" }
);

export interface AskedQuestion {
  readonly question: string;
  readonly labels: readonly string[];
}

export interface RunningSubagent {
  readonly subagent: Subagent;
  readonly title: string;
}

export type Background = BackgroundWork & { readonly call_id?: string };

/** A message of ours that the CLI has not taken up yet. `text` only where a recording shows it. */
export interface Waiting {
  /** Where the host said it. */
  readonly host: number | undefined;
  readonly uuid: string | null;
  readonly content: string | readonly unknown[];
}

export interface State {
  /** Between the start of work and its result. */
  working: boolean;
  readonly messages: Map<string, Message>;
  /** The message that stream events without an id belong to. */
  streaming: Message | null;
  /** The last message that was sent as a whole, until a tool result follows: older stream lines may repeat it. */
  lastWhole: Message | null;
  readonly tools: Map<string, Tool>;
  readonly asked: Map<string, Asked>;
  /** Calls of this turn that a person was asked about. */
  readonly askedCalls: Set<string>;
  /** Our own control requests that wait for an answer: what they were. */
  readonly requested: Map<string, string>;
  requests: number;
  /** By the Agent call that began them. */
  readonly subagents: Map<string, RunningSubagent>;
  readonly background: Map<string, Background>;
  /** Task id → the call that began it. */
  readonly taskCalls: Map<string, string>;
  /** Calls that a rule denied and a line of its own has reported so. */
  readonly denials: Set<string>;
  readonly todos: Map<string, KnownTodo>;
  /** Messages we sent, by uuid, until a result names them. */
  readonly sent: Set<string>;
  /** Messages of ours whose pictures are being read. */
  readonly attaching: Attaching[];
  /** Recordings only: messages of the host that no turn has begun for. */
  waiting: Waiting[];
  /** This version names on a result the messages it answers. */
  namesMessages: boolean;
  /** A result has come and nothing else since: another one is ignored. */
  settled: boolean;
  /** What the last error the CLI wrote in the model's place was called. */
  lastError: string | null;
  /** Why we stopped the CLI's own retries. */
  gaveUp: string | null;
  /** We have asked to stop: what comes now is broken off. */
  interrupting: boolean;
  /** We rejected something in a way that ends the turn. */
  rejected: boolean;
  /** The session is in `acceptEdits`; the CLI itself is in `default` then. */
  acceptsEdits: boolean;
  /** Tokens reported by model steps since the last result. */
  counted: Tokens;
  /** Lines with these ids were read: a repeat is ignored. */
  readonly seen: Set<string>;
  lastUuid: string | null;
  made: number;
}

export const start = (): State => ({
  working: false,
  messages: new Map(),
  streaming: null,
  lastWhole: null,
  tools: new Map(),
  asked: new Map(),
  askedCalls: new Set(),
  requested: new Map(),
  requests: 0,
  subagents: new Map(),
  background: new Map(),
  taskCalls: new Map(),
  denials: new Set(),
  todos: new Map(),
  sent: new Set(),
  attaching: [],
  waiting: [],
  namesMessages: false,
  settled: false,
  lastError: null,
  gaveUp: null,
  interrupting: false,
  rejected: false,
  acceptsEdits: false,
  counted: noTokens(),
  seen: new Set(),
  lastUuid: null,
  made: 0,
});

const SEEN_LIMIT = 2_000;

/** Whether the line with this id was read before. Deltas are many, so only an immediate repeat of one is noticed. */
export function isRepeat(state: State, { uuid, streamed }: { uuid: string | undefined; streamed: boolean }): boolean {
  if (uuid === undefined) return false;
  const again = uuid === state.lastUuid || (!streamed && state.seen.has(uuid));
  state.lastUuid = uuid;
  if (streamed || again) return again;
  state.seen.add(uuid);
  if (state.seen.size > SEEN_LIMIT) {
    const [oldest] = state.seen;
    if (oldest !== undefined) state.seen.delete(oldest);
  }
  return false;
}

/** A turn is over: what is not at work in the background is forgotten. */
export function forgetTurn(state: State): void {
  forgetForeground(state);
  state.working = false;
  state.streaming = null;
  state.lastWhole = null;
  state.denials.clear();
  state.askedCalls.clear();
  state.lastError = null;
  state.gaveUp = null;
  state.interrupting = false;
  state.rejected = false;
  state.counted = noTokens();
}

function forgetForeground({ background, messages, tools, subagents }: State): void {
  if (background.size === 0) {
    messages.clear();
    tools.clear();
    subagents.clear();
    return;
  }
  const living = new Set([...background.values()].map(({ id }) => id));
  for (const [id, { subagent }] of messages) {
    if (subagent === undefined || !living.has(subagent.id)) messages.delete(id);
  }
  for (const [id, { subagent }] of tools) {
    if (subagent === undefined || !living.has(subagent.id)) tools.delete(id);
  }
  for (const [call, { subagent }] of subagents) if (!living.has(subagent.id)) subagents.delete(call);
}

/** The process is gone, and with it all that only it knew. */
export function forgetProcess(state: State): void {
  state.background.clear();
  forgetTurn(state);
  state.taskCalls.clear();
  state.asked.clear();
  state.requested.clear();
  state.sent.clear();
  state.attaching.length = 0;
}

/** A key for what has no id of its own. */
export function madeKey(state: State, name: string): string {
  state.made += 1;
  return `${name}-${state.made}`;
}
