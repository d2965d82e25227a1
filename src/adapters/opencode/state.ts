/** What the OpenCode adapter remembers of a session, its subagents and the requests in flight. Plain data. */
import type { AgentCommand, LaunchOptions } from "../../core/adapter.ts";
import type { OpenCodeError, OpenCodeSessionEvent } from "../../dialects/opencode.ts";
import type { ItemHead } from "../../core/report.ts";
import type { Subagent } from "../../protocol/items.ts";

/** One of OpenCode's sessions: ours, or the child session of a task. */
export interface Thread {
  readonly id: string;
  readonly subagent: Subagent | null;
  /** Between the first busy and the first idle after it. */
  busy: boolean;
  retrying: boolean;
  /** What went wrong since the last assistant message began. */
  error: OpenCodeError | null;
  /** A person said no since the last assistant message began. */
  rejected: boolean;
  /** How the last assistant message finished; null while it has not. */
  finish: string | null;
}

/** A child session whose task call is not known yet: its lines wait, so that its first item can name the call. */
export interface Unlinked {
  readonly parent: string;
  readonly name: string | null;
  readonly held: OpenCodeSessionEvent[];
}

export interface Message {
  readonly role: "user" | "assistant";
  readonly thread: string;
  /** It holds the summary of a compaction. */
  readonly summary: boolean;
  /** The key of its latest message item: the parent of its tool calls. */
  latest: string | null;
  /** Parts that are still being written, by id. */
  readonly open: Set<string>;
  /** Files its tools have named already, which its patch part repeats. */
  readonly files: Set<string>;
}

export type Part =
  | {
      readonly type: "text" | "reasoning";
      readonly head: ItemHead;
      /** How many characters were forwarded. */
      sent: number;
      /** We were away while it was written: its deltas would leave a hole, so only its final text counts. */
      torn: boolean;
      latest: string;
    }
  | {
      readonly type: "tool";
      readonly name: string;
      readonly callId: string;
      running: boolean;
      /** The output so far, as told by the last running update. */
      output: string;
    };

/** What the answer to a request of ours is about. */
export type Asked = "create" | "fork" | "resume" | "prompt" | "command" | "abort" | "reply" | "messages" | "status" | "requests" | "other";

export interface State {
  options: LaunchOptions | null;
  /** Our session's native id. */
  root: string | null;
  readonly threads: Map<string, Thread>;
  readonly unlinked: Map<string, Unlinked>;
  /** Messages and parts of this turn and the one before. */
  messages: Map<string, Message>;
  olderMessages: Map<string, Message>;
  readonly parts: Map<string, Part>;
  /** Parts that are done, of this turn and the one before: late repetitions say nothing new. */
  done: Set<string>;
  olderDone: Set<string>;
  /** What is known of the session, so that only changes are reported. */
  title: string | null;
  model: string | null;
  mode: string | null;
  announced: boolean;
  /** What the next prompts are sent with. */
  chosen: { model: string | null; variant: string | null; mode: string | null };
  /** The last model that was really used: compaction needs one. */
  usedModel: { readonly providerID: string; readonly modelID: string } | null;
  /** A prompt of ours is sent and its turn has not been seen to end. */
  prompted: boolean;
  /** An abort of ours: wanted once the prompt is taken, sent, answered. */
  abort: "no" | "wanted" | "sent" | "answered";
  /** The idle that belongs to the abort was seen. */
  abortIdle: boolean;
  /** An error that was told already in this busy period. */
  toldError: string | null;
  /** Commands that wait for our session's id. */
  waiting: AgentCommand[];
  requests: number;
  readonly asked: Map<string, Asked>;
  /** The connection was lost for a while and the state is being read again. */
  rereading: { messages: boolean; status: boolean } | null;
  connected: boolean;
}

export const startState = (): State => ({
  options: null,
  root: null,
  threads: new Map(),
  unlinked: new Map(),
  messages: new Map(),
  olderMessages: new Map(),
  parts: new Map(),
  done: new Set(),
  olderDone: new Set(),
  title: null,
  model: null,
  mode: null,
  announced: false,
  chosen: { model: null, variant: null, mode: null },
  usedModel: null,
  prompted: false,
  abort: "no",
  abortIdle: false,
  toldError: null,
  waiting: [],
  requests: 0,
  asked: new Map(),
  rereading: null,
  connected: false,
});

export const thread = (state: State, id: string, subagent: Subagent | null = null): Thread => {
  const known = state.threads.get(id);
  if (known !== undefined) return known;
  const made: Thread = { id, subagent, busy: false, retrying: false, error: null, rejected: false, finish: null };
  state.threads.set(id, made);
  return made;
};
