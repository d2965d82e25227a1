/** What the OpenCode adapter remembers of a session, its subagents and the requests in flight. Plain data. */
import type { AgentCommand } from "../../core/agent-io.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import type { OpenCodeError, OpenCodePart, OpenCodeSessionEvent } from "../../dialects/opencode.ts";
import type { Shape } from "../../dialects/shape.ts";
import type { MessagePlace } from "../../protocol/events.ts";
import type { Subagent } from "../../protocol/items.ts";

/** One of OpenCode's sessions: ours, or the child session of a task. */
export interface Thread {
  readonly id: string;
  subagent: Subagent | null;
  /** How often a child session has been put to work; each time is a status item of its own. */
  runs: number;
  /** Its status item is open. */
  shown: boolean;
  /** Between the first busy and the first idle after it. */
  busy: boolean;
  retrying: boolean;
  /** What went wrong since the last assistant message began. */
  error: OpenCodeError | null;
  /** A person said no since the last assistant message began. */
  rejected: boolean;
  /** The last assistant message, and how it finished. */
  latest: { readonly id: string; readonly finish: string | null; readonly completed: boolean } | null;
}

/** A child session whose task call is not known yet: its lines wait, so that its first item can name the call. */
export interface Unlinked {
  readonly name: string | null;
  readonly held: OpenCodeSessionEvent[];
}

export interface Message {
  readonly role: "user" | "assistant";
  readonly thread: string;
  /** It holds the summary of a compaction. */
  readonly summary: boolean;
  /** It is older than its session: a copy made by a fork, which is no work. */
  readonly past: boolean;
  /** A user's message that nobody answers: it belongs to no turn. */
  note: boolean;
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
      /** How many characters were forwarded. */
      sent: number;
      /** We were away while it was written: its deltas would leave a hole, so only its final text counts. */
      torn: boolean;
    }
  | {
      readonly type: "tool";
      readonly name: string;
      readonly callId: string;
      /** Its arguments, once they are known. */
      input: Shape;
      running: boolean;
      /** The output so far, as in the last running update. */
      output: string;
    };

const ASKED = [
  "create",
  "resume",
  "past",
  "prompt",
  "work",
  "abort",
  "aborted",
  "messages",
  "permissions",
  "questions",
  "status",
  "liveness",
  "revert",
  "unrevert",
  "share",
  "unshare",
  "removal",
  "note",
  "other",
] as const;

/** What the answer to a request of ours is about. */
export type Asked = (typeof ASKED)[number];
export const isAsked = (name: string): name is Asked => ASKED.some((one) => one === name);

export interface State {
  options: LaunchOptions | null;
  connected: boolean;
  /** Our session's native id. */
  root: string | null;
  /** When our session was made, by the server's clock. */
  born: number;
  readonly threads: Map<string, Thread>;
  readonly unlinked: Map<string, Unlinked>;
  /** Messages of this turn and of the one before. */
  messages: Map<string, Message>;
  olderMessages: Map<string, Message>;
  /** Parts that are still being written. */
  readonly parts: Map<string, Part>;
  /** Parts that are done, of this turn and of the one before: late repetitions are ignored. */
  done: Set<string>;
  olderDone: Set<string>;
  /** What the next prompts are sent with. */
  chosen: { readonly model: string | null; readonly variant: string | null; readonly mode: string | null };
  /** The last model that was really used: a compaction needs one. */
  usedModel: { readonly providerID: string; readonly modelID: string } | null;
  /** The server sends busy and idle; very old ones only send idle. */
  statusSeen: boolean;
  /** A prompt of ours is sent and its turn has not been seen to end. */
  prompted: boolean;
  /** An abort of ours: wanted once the prompt is taken, sent, answered, and the answer waited out. */
  abort: "no" | "wanted" | "sent" | "answered" | "waited";
  /** How many idles were heard since the abort. */
  abortIdles: number;
  /** A prompt that we did not send, until OpenCode begins to work on it: some are only put into the conversation. */
  foreign: Report[];
  /** The last error that was reported in this busy period. */
  lastError: string | null;
  /** Commands that wait for our session's id. */
  waiting: AgentCommand[];
  requests: number;
  readonly asked: Map<string, Asked>;
  /** What was asked of us beside turns: our request's id to the id of the ask. */
  readonly asks: Map<string, string>;
  /** What our requests take out of the conversation, by request. */
  readonly removals: Map<string, MessagePlace>;
  /** Messages and parts removed lately: an answer and an event both report a removal. */
  gone: Set<string>;
  /** We were away and read the state again: deltas of parts that we do not know are torn. */
  rereading: boolean;
  /** Heartbeats since our session last said anything. */
  silence: number;
  /** Words and files of messages that were not announced yet, by message: nobody knows whose they are. */
  readonly unannounced: Map<string, OpenCodePart[]>;
  /** Ids that we made because a line had none: keys for us, never shown as the agent's. */
  readonly made: Set<string>;
}

export const startState = (): State => ({
  options: null,
  connected: false,
  root: null,
  born: 0,
  threads: new Map(),
  unlinked: new Map(),
  messages: new Map(),
  olderMessages: new Map(),
  parts: new Map(),
  done: new Set(),
  olderDone: new Set(),
  chosen: { model: null, variant: null, mode: null },
  usedModel: null,
  statusSeen: false,
  prompted: false,
  abort: "no",
  abortIdles: 0,
  foreign: [],
  lastError: null,
  waiting: [],
  requests: 0,
  asked: new Map(),
  asks: new Map(),
  removals: new Map(),
  gone: new Set(),
  rereading: false,
  silence: 0,
  unannounced: new Map(),
  made: new Set(),
});

export function threadOf(state: State, id: string): Thread {
  const known = state.threads.get(id);
  if (known !== undefined) return known;
  // A child session whose beginning we missed is a subagent all the same.
  const subagent = id === state.root ? null : { id, parent_call_id: null };
  const made: Thread = {
    id,
    subagent,
    runs: 0,
    shown: false,
    busy: false,
    retrying: false,
    error: null,
    rejected: false,
    latest: null,
  };
  state.threads.set(id, made);
  return made;
}

/** A turn begins: what belongs to the turn before last is forgotten. */
export function turnPage(state: State): void {
  state.olderMessages = state.messages;
  state.messages = new Map();
  state.olderDone = state.done;
  state.done = new Set();
}

export const messageOf = (state: State, id: string): Message | undefined =>
  state.messages.get(id) ?? state.olderMessages.get(id);

export const isDone = (state: State, part: string): boolean => state.done.has(part) || state.olderDone.has(part);

export function finishPart(state: State, { part, message }: { part: string; message: Message }): void {
  state.parts.delete(part);
  state.done.add(part);
  message.open.delete(part);
}
