/** What the OpenCode projection remembers: plain data, bounded by what is open, never by what was said. */

import type { OpenCodeEvent, OpenCodeSession, OpenCodeTokens } from "../../dialects/opencode.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type Clock, nextId, openCodeSessionId, slugOf, startClock } from "./ids.ts";

export interface OpenCodeOptions {
  /** One assistant message per turn, or one per model step as OpenCode itself stores them. */
  readonly messages: "turn" | "step";
  /** `legacy`: text comes as `message.part.updated` with `delta`, as servers before 1.1 sent it. */
  readonly deltas: "today" | "legacy";
}

export const defaultOptions: OpenCodeOptions = { messages: "turn", deltas: "today" };

export interface StepEnd {
  readonly reason: string;
  readonly cost: number;
  readonly tokens: OpenCodeTokens;
}

/** The assistant message that is being written. */
export interface OpenMessage {
  readonly id: string;
  /** The native message the latest block belongs to. */
  native: string | null;
  readonly created: number;
  readonly parentID: string;
  cost: number;
  tokens: OpenCodeTokens | null;
  finish: string | null;
  /** Between step-start and step-finish. */
  inStep: boolean;
  /** A model step has ended in this message. */
  stepped: boolean;
  /** The end of its step, due when the step's tools are final. */
  due: StepEnd | null;
  /** How many of its tools are not final. */
  openTools: number;
  /** The answer in the shape that was asked for. */
  structured?: unknown;
  /** It holds a compaction's summary. */
  readonly summary: boolean;
  /** Its id is OpenCode's own, and so is its end. */
  readonly own: boolean;
}

/** One OpenCode session: the session itself, or a subagent's child session. */
export interface Conversation {
  readonly key: string;
  readonly id: string;
  readonly slug: string;
  readonly parentID: string | null;
  readonly created: number;
  updated: number;
  archived: number | null;
  title: string;
  /** The mode, or the subagent's name: what OpenCode calls the agent. */
  agent: string | null;
  status: "idle" | "busy" | "retry";
  /** The latest user message. */
  user: string | null;
  message: OpenMessage | null;
  /** The open status items that keep a child busy. */
  readonly statusItems: Set<string>;
  /** The child is over as soon as what it has open is closed. */
  ending: boolean;
  /** What a subagent was asked for; empty where that is not known. */
  readonly prompt: string;
}

/** A block of text or reasoning that is being written. */
export interface TextEntry {
  readonly conversation: string;
  readonly messageID: string;
  readonly id: string;
  readonly start: number;
  type: "text" | "reasoning";
  /** Its empty part has been emitted. */
  begun: boolean;
  /** Emitted at once when it is whole: a summary may still be corrected while it is written. */
  readonly whole: boolean;
  length: number;
  /** What was said so far; kept for the legacy form only. */
  text: string;
}

export interface ToolEntry {
  readonly conversation: string;
  /** The session's OpenCode id. */
  readonly session: string;
  readonly messageID: string;
  readonly id: string;
  readonly callID: string;
  readonly tool: string;
  /** The agent's own name for the tool, and its own input where that differs. */
  readonly native: string;
  nativeInput: Readonly<Record<string, unknown>> | null;
  input: Readonly<Record<string, unknown>>;
  title: string;
  status: "pending" | "running" | "final";
  start: number;
  /** The end of what it printed so far, and when that was last emitted. */
  output: string;
  shownAt: number;
  child: string | null;
  /** Of a question: what was answered. */
  answers: readonly (readonly string[])[] | null;
}

export interface State {
  readonly options: OpenCodeOptions;
  readonly clock: Clock;
  /** The universal session id: the seed of all ids. */
  session: string;
  agent: string;
  /** What answers. */
  model: string | null;
  /** What was asked for, null for the agent's own choice; undefined in a recording, which does not say. */
  chosen: string | null | undefined;
  variant: string | null;
  directory: string;
  /** The project of the folder, once it was asked for. */
  project: { readonly directory: string; readonly id: string } | null;
  /** The session that this one belongs to, by OpenCode's id. */
  parent: string | null;
  cost: number;
  tokens: OpenCodeTokens;
  revert: OpenCodeSession["revert"] | null;
  share: OpenCodeSession["share"] | null;
  /** Subagents' conversations by subagent id; the session's own is under "". */
  readonly conversations: Map<string, Conversation>;
  readonly texts: Map<string, TextEntry>;
  /** Summaries that are being written, by item id: in the open message, or in one of their own beside it. */
  readonly openSummaries: Map<string, { readonly message: OpenMessage; readonly beside: boolean }>;
  /** By call id. */
  readonly tools: Map<string, ToolEntry>;
  /** Open tool results: item id to call id. */
  readonly results: Map<string, string>;
  /** Open requests: our id to OpenCode's. */
  readonly requests: Map<string, { readonly id: string; readonly session: string }>;
  /** The session's latest messages, and the ids that the log has for those of the user: they may be taken back. */
  readonly recent: { readonly id: string; readonly logged: string | null }[];
  /** A fork begins with copies of its origin's messages: these have ids of their own, and change no file. */
  copying: boolean;
  readonly turn: {
    /** Errors that were emitted in this turn, so that its end does not repeat them. */
    errors: string[];
    compacting: boolean;
    /** Compaction is over, but its summary is still being written. */
    compacted: boolean;
    /** Compaction began and its summary has not been written yet. */
    summaryDue: boolean;
    /** When the compaction began. */
    compactingSince: number | null;
    /** A user's message is in it. */
    asked: boolean;
    /** It began with a prompt, so it must have an answer. */
    prompted: boolean;
    /** OpenCode's own ids that were used in this turn: a second block of that name needs an id of its own. */
    used: Set<string>;
    /** The same of the turn before. */
    usedBefore: Set<string>;
    /** The next user item was written by the governor, not by a person. */
    continued: boolean;
  };
}

export const noTokens: OpenCodeTokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

export const start = (options: OpenCodeOptions): State => ({
  options,
  clock: startClock(),
  session: "",
  agent: "",
  model: null,
  chosen: undefined,
  variant: null,
  directory: "",
  project: null,
  parent: null,
  cost: 0,
  tokens: noTokens,
  revert: null,
  share: null,
  conversations: new Map(),
  texts: new Map(),
  openSummaries: new Map(),
  tools: new Map(),
  results: new Map(),
  requests: new Map(),
  recent: [],
  copying: false,
  turn: {
    errors: [],
    compacting: false,
    compacted: false,
    summaryDue: false,
    compactingSince: null,
    asked: false,
    prompted: false,
    used: new Set(),
    usedBefore: new Set(),
    continued: false,
  },
});

/** One universal event being rendered: when it happened, and the OpenCode events that follow from it. */
export interface Rendering {
  readonly state: State;
  readonly event: UniversalEvent;
  readonly ms: number;
  readonly out: OpenCodeEvent[];
}

/** How many of the latest messages can be taken back. */
const RECENT = 200;

export function noteMessage(
  { state }: Rendering,
  { conversation, id, logged }: { conversation: Conversation; id: string; logged: string | null },
): void {
  if (conversation.key !== ROOT || state.recent.some((known) => known.id === id)) return;
  state.recent.push({ id, logged });
  if (state.recent.length > RECENT) state.recent.shift();
}

export const ROOT = "";

export function rootOf({ state, event, ms }: Rendering): Conversation {
  const known = state.conversations.get(ROOT);
  if (known !== undefined) return known;
  state.session = event.session_id;
  const id = openCodeSessionId(event.session_id);
  const root: Conversation = {
    key: ROOT,
    id,
    slug: slugOf(id),
    parentID: null,
    created: ms,
    updated: ms,
    archived: null,
    title: `New session - ${event.time}`,
    agent: null,
    status: "idle",
    user: null,
    message: null,
    statusItems: new Set(),
    ending: false,
    prompt: "",
  };
  state.conversations.set(ROOT, root);
  return root;
}

/** `seed`: what the id is made for, by the names that the log has for it. */
export function makeId(
  { state, ms }: Rendering,
  prefix: "msg" | "prt" | "per" | "que",
  ...seed: readonly string[]
): string {
  return nextId(state.clock, { ms, seed: [prefix, state.session, ...seed] });
}

export function eventId({ state, event, ms, out }: Rendering): string {
  return nextId(state.clock, { ms, seed: ["evt", event.event_id, String(out.length)] });
}

/** Sessions of the OpenCode agent carry OpenCode's own ids: these are kept. */
export function ownId(
  state: State,
  { prefix, id }: { prefix: "msg" | "prt" | "ses"; id: string | null },
): string | null {
  if (id === null || state.copying || !state.agent.startsWith("opencode")) return null;
  if (state.turn.used.has(id) || state.turn.usedBefore.has(id)) return null;
  return id.startsWith(`${prefix}_`) ? id : null;
}

/** For an idle conversation nothing is emitted: what comes late belongs to no turn. */
export const isQuiet = ({ status }: Conversation): boolean => status === "idle";
