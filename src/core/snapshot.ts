/**
 * A session as it stands: what a late joiner needs, and what a session is rebuilt from after a restart.
 * A fold over its events, bounded in size whatever the session's length.
 */

import type { RememberedScope } from "../permissions/scopes.ts";
import type {
  EndReason,
  MessagePlace,
  Permission,
  QuestionRequest,
  QueuedPrompt,
  Retry,
  Revert,
  SessionMetadata,
  SessionStatus,
  Share,
  Todo,
  UniversalEvent,
  UsageTotal,
} from "../protocol/events.ts";
import type { ItemId, TurnId } from "../protocol/ids.ts";
import type { Item } from "../protocol/items.ts";
import { withText } from "./content.ts";
import { defined } from "./defined.ts";
import type { Fold } from "./fold.ts";
import { noUsage, STAND_IN } from "./machine-state.ts";
import { remember, rememberedIn } from "./remembered.ts";
import { sizeOf } from "./size.ts";
import { type Books, keepBooks, startBooks } from "./spent.ts";
import { timeOf } from "./time-text.ts";

/**
 * How many finished items a snapshot keeps, and about how many characters of them; older ones are read from the log. A
 * snapshot is stored again and again: what it costs must not depend on what was said long ago.
 */
export const SNAPSHOT_ITEMS = 200;
export const SNAPSHOT_SIZE = 32 * 1024;

/** How many removed messages a snapshot knows of, so that older pages leave them out too. */
const SNAPSHOT_REMOVED = 1_000;

export interface Snapshot {
  sequence: number;
  time: string;
  createdAt: string;
  native_session_id: string | null;
  metadata: SessionMetadata | null;
  title: string | null;
  /** A person gave the title: what the agent finds does not replace it. */
  titleGiven: boolean;
  model: string | null;
  variant: string | null;
  mode: string | null;
  permission_mode: string | null;
  status: SessionStatus;
  /** Only while the status is `retrying`. */
  retry: Retry | null;
  ended: boolean;
  turn: { id: TurnId; prompt_id: string | null } | null;
  continuing: boolean;
  turns: number;
  /** How many items, permissions and questions there have been: the counters of their ids. */
  itemCount: number;
  permissionCount: number;
  questionCount: number;
  /** The latest items, in the order they began, open ones always among them. */
  readonly items: Map<ItemId, Item>;
  /** The size of those that are finished. */
  finishedSize: number;
  /** What is being said in open items. */
  readonly texts: Map<ItemId, { text: string; part: "text" | "reasoning" | "tool_output" }>;
  readonly permissions: Map<string, Permission>;
  readonly questions: Map<string, QuestionRequest>;
  /** What users have allowed for the rest of the session. */
  remembered: readonly RememberedScope[];
  queue: readonly QueuedPrompt[];
  todos: readonly Todo[];
  usage: UsageTotal;
  /** Of the turn that is open, and of the session before it began. */
  turnUsage: { readonly turn: UsageTotal; readonly before: UsageTotal };
  /** What was used, for budgets. */
  readonly books: Books;
  /** How the last turn ended. */
  lastEnd: { readonly reason: EndReason; readonly message?: string } | null;
  revert: Revert | null;
  share: Share | null;
  /** Whether the agent was last started with what its folder brings along; null while nothing was said of it. */
  trusted: boolean | null;
  /** What was taken out of the conversation lately. */
  removed: readonly MessagePlace[];
}

export const emptySnapshot = (): Snapshot => ({
  sequence: 0,
  time: "",
  createdAt: "",
  native_session_id: null,
  metadata: null,
  title: null,
  titleGiven: false,
  model: null,
  variant: null,
  mode: null,
  permission_mode: null,
  trusted: null,
  status: "idle",
  retry: null,
  ended: false,
  turn: null,
  continuing: true,
  turns: 0,
  itemCount: 0,
  permissionCount: 0,
  questionCount: 0,
  items: new Map(),
  finishedSize: 0,
  texts: new Map(),
  permissions: new Map(),
  questions: new Map(),
  remembered: [],
  queue: [],
  todos: [],
  usage: noUsage(),
  turnUsage: { turn: noUsage(), before: noUsage() },
  books: startBooks(),
  lastEnd: null,
  revert: null,
  share: null,
  removed: [],
});

const nothing: readonly never[] = [];

export const snapshotFold: Fold<UniversalEvent, never, Snapshot> = {
  start: emptySnapshot,
  step(state, event) {
    if (event.type !== "item.delta") keepBooks(state.books, event, momentOf(event));
    applyEvent(state, event);
    return nothing;
  },
};

/** The items as they stand, with what is being said in those still open. */
export const itemsOf = (snapshot: Snapshot): Item[] =>
  [...snapshot.items.values()].map((item) => {
    const said = snapshot.texts.get(item.item_id);
    return said === undefined ? item : { ...item, content: withText(item.content, said) };
  });

/** All but the books: an open session's turn machine keeps them for both. */
export function applyEvent(state: Snapshot, event: UniversalEvent): void {
  state.sequence = event.sequence;
  state.time = event.time;
  if (state.createdAt === "") state.createdAt = event.time;
  if (event.native_session_id !== null) state.native_session_id = event.native_session_id;
  switch (event.type) {
    case "item.delta":
    case "item.started":
    case "item.completed":
      return applyItem(state, event);
    case "turn.started":
    case "turn.state":
    case "turn.ended":
      return applyTurn(state, event);
    case "permission.requested":
    case "permission.resolved":
    case "question.requested":
    case "question.resolved":
      return applyRequest(state, event);
    case "session.started":
      return applyMetadata(state, event.data.metadata);
    case "session.updated":
      if (event.data.title !== undefined) state.titleGiven = event.source === "daemon" && event.cause.rule !== STAND_IN;
      return applyChange(state, event.data);
    case "session.ended":
      state.ended = true;
      return;
    case "todo.updated":
      state.todos = event.data.todos;
      return;
    case "usage.updated":
      state.usage = event.data.session;
      if (event.turn_id !== null) state.turnUsage = { turn: event.data.turn, before: state.turnUsage.before };
      return;
    case "turn.continued":
    case "budget.updated":
    case "error":
    case "agent.unparsed":
      return;
  }
}

/** Only turns are timed: a time that nobody reads is not worth parsing. */
const momentOf = ({ type, time }: UniversalEvent): number =>
  type === "turn.started" || type === "turn.ended" ? timeOf(time) : 0;

type Of<Type extends UniversalEvent["type"]> = Extract<UniversalEvent, { type: Type }>;

function applyItem(state: Snapshot, event: Of<"item.delta" | "item.started" | "item.completed">): void {
  if (event.type === "item.delta") {
    const { item_id, delta, part } = event.data;
    const said = state.texts.get(item_id);
    if (said === undefined) state.texts.set(item_id, { text: delta, part });
    else said.text += delta;
    return;
  }
  const { item } = event.data;
  // More than are kept: then `trim` has left only open ones.
  const wereOpen = state.items.size > SNAPSHOT_ITEMS;
  const before = state.items.get(item.item_id);
  if (before !== undefined) state.finishedSize -= finishedSizeOf(before);
  state.items.set(item.item_id, item);
  state.finishedSize += finishedSizeOf(item);
  if (event.type === "item.completed") state.texts.delete(item.item_id);
  else state.itemCount += 1;
  if (!wereOpen) trim(state);
  else if (item.status !== "in_progress") forget(state, item);
}

/** Zero for an item that is still open. Measured when it is finished and again when it is forgotten. */
const finishedSizeOf = (item: Item): number => (item.status === "in_progress" ? 0 : sizeOf(item.content));

/** The three come together, with `retrying` only. */
export function retryOf({ attempt, message, next }: Of<"turn.state">["data"]): Retry | null {
  return attempt === undefined || message === undefined || next === undefined ? null : { attempt, message, next };
}

function applyTurn(state: Snapshot, event: Of<"turn.started" | "turn.state" | "turn.ended">): void {
  state.retry = event.type === "turn.state" ? retryOf(event.data) : null;
  switch (event.type) {
    case "turn.started":
      state.turns += 1;
      state.turn = { id: event.data.turn_id, prompt_id: event.data.prompt_id ?? null };
      state.status = "running";
      state.turnUsage = { turn: noUsage(), before: state.usage };
      return;
    case "turn.state":
      state.status = event.data.state;
      return;
    case "turn.ended":
      state.turn = null;
      state.status = "idle";
      state.lastEnd = { reason: event.data.reason, ...defined({ message: event.data.error?.message }) };
      return;
  }
}

function applyRequest(
  state: Snapshot,
  event: Of<"permission.requested" | "permission.resolved" | "question.requested" | "question.resolved">,
): void {
  switch (event.type) {
    case "permission.requested":
      state.permissionCount += 1;
      state.permissions.set(event.data.permission_id, event.data);
      return;
    case "permission.resolved":
      state.permissions.delete(event.data.permission_id);
      state.remembered = remember(state.remembered, rememberedIn(event.data));
      return;
    case "question.requested":
      state.questionCount += 1;
      state.questions.set(event.data.question_id, event.data);
      return;
    case "question.resolved":
      state.questions.delete(event.data.question_id);
      return;
  }
}

function applyMetadata(state: Snapshot, metadata: SessionMetadata): void {
  state.metadata = metadata;
  state.model = metadata.model;
  state.permission_mode = metadata.permission_mode;
}

type Change = Of<"session.updated">["data"];

function remove(state: Snapshot, places: readonly MessagePlace[]): void {
  state.removed = [...state.removed, ...places].slice(-SNAPSHOT_REMOVED);
  for (const item of state.items.values()) if (isRemoved(places, item)) forget(state, item);
}

/** Whether an item was taken out with its message, or by itself. */
export const isRemoved = (places: readonly MessagePlace[], item: Item): boolean =>
  places.some(
    ({ message_id, native_item_id }) =>
      item.message_id === message_id && (native_item_id === undefined || native_item_id === item.native_item_id),
  );

function applyChange(state: Snapshot, change: Change): void {
  if (change.title !== undefined) state.title = change.title;
  if (change.model !== undefined) state.model = change.model;
  if (change.variant !== undefined) state.variant = change.variant;
  if (change.mode !== undefined) state.mode = change.mode;
  if (change.permission_mode !== undefined) state.permission_mode = change.permission_mode;
  if (change.native_session_id !== undefined) state.native_session_id = change.native_session_id;
  if (change.continuing !== undefined) state.continuing = change.continuing;
  if (change.queue !== undefined) state.queue = change.queue;
  if (change.revert !== undefined) state.revert = change.revert;
  if (change.share !== undefined) state.share = change.share;
  if (change.trusted !== undefined) state.trusted = change.trusted;
  if (change.removed !== undefined) remove(state, change.removed);
  const { agent, agent_version, directory, tools, commands, capabilities } = change;
  const news = agent ?? agent_version ?? directory ?? tools ?? commands ?? capabilities;
  if (state.metadata === null || news === undefined) return;
  const own = defined({ agent, agent_version, directory, tools, commands, capabilities });
  state.metadata = { ...state.metadata, ...own };
}

/** Forgets the oldest finished items, until few enough are left or all are open. */
function trim(state: Snapshot): void {
  if (state.items.size <= SNAPSHOT_ITEMS && state.finishedSize <= SNAPSHOT_SIZE) return;
  for (const item of state.items.values()) {
    if (item.status === "in_progress") continue;
    forget(state, item);
    if (state.items.size <= SNAPSHOT_ITEMS && state.finishedSize <= SNAPSHOT_SIZE) return;
  }
}

function forget(state: Snapshot, item: Item): void {
  state.items.delete(item.item_id);
  state.finishedSize -= finishedSizeOf(item);
}
