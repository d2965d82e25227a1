/**
 * The log → the conversation. After a restart nothing else is needed: universal events say what the user asked, what
 * the model answered, what its tools gave, what was condensed, and what was allowed for the session. Pure.
 */
import type { Fold } from "../core/fold.ts";
import { parseJson } from "../core/json.ts";
import { isShellMessage } from "../core/unheard.ts";
import type { RememberedScope } from "../permissions/scopes.ts";
import type { MessagePlace, Todo, UniversalEvent } from "../protocol/events.ts";
import type { ContentPart, Item } from "../protocol/items.ts";
import { type AssistantParts, type Entry, type ToolAnswer, userEntryId } from "./conversation.ts";

export interface History {
  entries: Entry[];
  todos: readonly Todo[];
  /** "Always" answers, in the order they were given. */
  readonly remembered: RememberedScope[];
  /** Every call id that was ever used: no call may take one again. */
  readonly calls: Set<string>;
  /** How many user messages there were, and the highest number in an id of ours: both continue from here. */
  users: number;
  ids: number;
  /** Tokens in use after the last step of the main conversation. */
  used: number;
}

interface Draft {
  readonly id: string;
  readonly content: AssistantParts;
  readonly calls: Map<string, { readonly tool: string; answer: ToolAnswer | null }>;
  /** Text of blocks that broke off. */
  broken: string;
  finished: boolean;
}

/** What the turn that is being read holds so far: model messages, and users' messages between them. */
type Pending = { readonly type: "draft"; readonly draft: Draft } | { readonly type: "entry"; readonly entry: Entry };

interface State {
  readonly history: History;
  pending: Pending[];
  /** The log's ids of users' messages, by their entries. */
  readonly userMessages: Map<string, string>;
  /** Entries when the turn began: a turn that is still open is not history. */
  mark: { readonly entries: readonly Entry[]; readonly users: number } | null;
}

export const startHistory = (): History => ({
  entries: [],
  todos: [],
  remembered: [],
  calls: new Set(),
  users: 0,
  ids: 0,
  used: 0,
});

const NOT_ANSWERED = "The tool did not finish: the turn was interrupted.";

export const historyFold: Fold<UniversalEvent, never, State> = {
  start: () => ({ history: startHistory(), pending: [], userMessages: new Map(), mark: null }),
  step(state, event) {
    read(state, event);
    return [];
  },
};

/** What the model shall know. A turn that is open belongs to the prompt that is about to arrive. */
export function readHistory(events: Iterable<UniversalEvent>): History {
  const state = historyFold.start();
  for (const event of events) historyFold.step(state, event);
  return closeHistory(state);
}

export function closeHistory(state: State): History {
  const { history, mark } = state;
  if (mark === null) {
    settle(state, { keepBroken: true });
  } else {
    history.entries = [...mark.entries];
    history.users = mark.users;
  }
  return history;
}

function read(state: State, event: UniversalEvent): void {
  const { history } = state;
  switch (event.type) {
    case "turn.started":
      settle(state, { keepBroken: true });
      state.mark = { entries: [...history.entries], users: history.users };
      return;
    case "turn.ended": {
      const { reason } = event.data;
      settle(state, { keepBroken: reason === "aborted" || reason === "interrupted" });
      state.mark = null;
      return;
    }
    case "item.started":
      // A message that has begun stands before what the user says while it is being written.
      if (isMainMessage(event.data.item)) draftOf(state, event.data.item.message_id);
      return;
    case "item.completed":
      onItem(state, event.data.item);
      return;
    case "session.updated":
      if (event.data.removed !== undefined) forget(state, event.data.removed);
      return;
    case "usage.updated":
      onUsage(state, event.data.step);
      return;
    case "todo.updated":
      history.todos = event.data.todos;
      return;
    case "permission.resolved":
      if (event.data.status === "accept_for_session") history.remembered.push(...scopesOf(event.data.metadata.always));
      return;
    default:
      return;
  }
}

function onItem(state: State, item: Item): void {
  if (item.kind === "tool_call" || item.kind === "tool_result") {
    for (const part of item.content) if (part.type === "tool_call") state.history.calls.add(part.call_id);
  }
  countId(state.history, item.message_id ?? item.native_item_id);
  if (item.subagent !== undefined) return;
  if (item.kind === "system") return onSummary(state, item);
  // The model was shown a person's own commands with the prompt after them.
  if (isShellMessage(item)) return;
  if (item.kind === "message" && item.role === "user") return onUser(state, item);
  if (!isMainMessage(item)) return;
  const draft = draftOf(state, item.message_id);
  for (const part of item.content) addPart(draft, { item, part });
}

const isMainMessage = (item: Item): item is Item & { readonly message_id: string } =>
  item.message_id !== null && item.subagent === undefined && item.role !== "user";

/** Messages, summaries, children and notices are numbered through the session: `msg_12`, `cmp_13`. */
function countId(history: History, id: string | null): void {
  const count = Number(/^(?:msg|cmp|sub|ntc)_(\d+)$/.exec(id ?? "")?.[1] ?? 0);
  history.ids = Math.max(history.ids, count);
}

function onUser(state: State, item: Item): void {
  const { history } = state;
  history.users += 1;
  const text = item.content
    .map(userText)
    .filter((one) => one !== "")
    .join("\n");
  const entry: Entry = { type: "user", id: userEntryId(history.users), text, parts: [] };
  if (item.message_id !== null) state.userMessages.set(entry.id, item.message_id);
  state.pending.push({ type: "entry", entry });
}

/** A person took it back: the model shall not know of it. */
function forget(state: State, places: readonly MessagePlace[]): void {
  settle(state, { keepBroken: true });
  const names = new Set(places.map(({ message_id }) => message_id));
  const isKept = ({ id }: Entry): boolean => !names.has(state.userMessages.get(id) ?? id);
  state.history.entries = state.history.entries.filter(isKept);
}

function userText(part: ContentPart): string {
  if (part.type === "text") return part.ignored === true ? "" : part.text;
  if (part.type === "file_ref") return `[attached file: ${part.path}]`;
  return part.type === "image" ? `[attached image: ${part.path ?? part.mime}]` : "";
}

function onSummary(state: State, item: Item): void {
  const from = item.content.map(cutOf).find((one) => one !== undefined);
  const text = item.content.find((part) => part.type === "text")?.text;
  if (from === undefined || text === undefined) return;
  settle(state, { keepBroken: false });
  const { history } = state;
  const summary: Entry = { type: "summary", id: item.native_item_id ?? item.item_id, text };
  history.entries = [summary, ...keptOf(history.entries, from)];
  // The turn's own beginning may be condensed: what was cut must not come back when the turn stays open.
  if (state.mark !== null) {
    const { entries, users } = state.mark;
    state.mark = { entries: [summary, ...keptOf(entries, from)], users };
  }
  history.used = 0;
}

/** `from` null: nothing was kept. An entry that is not there was condensed before. */
function keptOf(entries: readonly Entry[], from: string | null): readonly Entry[] {
  const start = from === null ? -1 : entries.findIndex(({ id }) => id === from);
  return start < 0 ? [] : entries.slice(start);
}

function cutOf(part: ContentPart): string | null | undefined {
  if (part.type !== "json" || !isRecord(part.json)) return undefined;
  const { compaction } = part.json;
  if (!isRecord(compaction)) return undefined;
  return typeof compaction.from === "string" ? compaction.from : null;
}

function draftOf(state: State, id: string): Draft {
  const known = state.pending.findLast((one) => one.type === "draft" && one.draft.id === id);
  if (known?.type === "draft") return known.draft;
  const draft: Draft = { id, content: [], calls: new Map(), broken: "", finished: false };
  state.pending.push({ type: "draft", draft });
  return draft;
}

function addPart(draft: Draft, { item, part }: { item: Item; part: ContentPart }): void {
  switch (part.type) {
    case "text":
      if (item.status === "failed") draft.broken += part.text;
      else if (part.text !== "") draft.content.push({ type: "text", text: part.text });
      return;
    case "tool_call":
      if (item.status === "failed") return;
      draft.calls.set(part.call_id, { tool: part.name, answer: null });
      draft.content.push({
        type: "tool-call",
        toolCallId: part.call_id,
        toolName: part.name,
        input: parse(part.arguments),
      });
      return;
    case "tool_result": {
      const call = draft.calls.get(part.call_id);
      if (call === undefined) return;
      const { call_id, output, is_error } = part;
      call.answer = { call_id, tool: call.tool, output, is_error: is_error || item.status === "failed" };
      return;
    }
    default:
      return;
  }
}

function onUsage(state: State, step: Extract<UniversalEvent, { type: "usage.updated" }>["data"]["step"]): void {
  if (step?.message_id === undefined) return;
  const known = state.pending.findLast((one) => one.type === "draft" && one.draft.id === step.message_id);
  if (known?.type !== "draft") return;
  known.draft.finished = true;
  const { input, output, reasoning, cache_read, cache_write } = step.tokens;
  state.history.used = input + output + reasoning + cache_read + cache_write;
}

/**
 * Only finished steps are part of the conversation: a try that broke off was repeated. The last one of a turn that
 * somebody stopped stays as far as it got, because the user has read it and may speak of it.
 */
function settle(state: State, { keepBroken }: { keepBroken: boolean }): void {
  const { entries } = state.history;
  const last = state.pending.findLast(({ type }) => type === "draft");
  for (const one of state.pending) {
    if (one.type === "entry") entries.push(one.entry);
    else if (one.draft.finished) entries.push(finishedEntry(one.draft));
    else if (keepBroken && one === last) entries.push(...brokenEntry(one.draft));
  }
  state.pending = [];
}

function finishedEntry({ id, content, calls }: Draft): Entry {
  const answers = [...calls].map(
    ([call_id, { tool, answer }]): ToolAnswer => answer ?? { call_id, tool, output: NOT_ANSWERED, is_error: true },
  );
  return { type: "step", id, content, answers };
}

function brokenEntry({ id, content, broken }: Draft): Entry[] {
  const texts = content.filter(({ type }) => type === "text");
  const parts: AssistantParts = broken === "" ? texts : [...texts, { type: "text", text: broken }];
  return parts.length === 0 ? [] : [{ type: "step", id, content: parts, answers: [] }];
}

function scopesOf(always: unknown): RememberedScope[] {
  if (!Array.isArray(always)) return [];
  return always.flatMap((one: unknown) =>
    isRecord(one) && typeof one.action === "string" && typeof one.pattern === "string"
      ? [{ permission: one.action, match: "exact", pattern: one.pattern }]
      : [],
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The model wrote no JSON; the words are what it said.
    return { text };
  }
}
