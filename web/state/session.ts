/** The session that is open: loaded from its end, followed live, and older parts on demand. */
import { signal } from "@preact/signals";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { SessionDetail } from "../../src/protocol/resources.ts";
import { ApiError } from "../../src/sdk/index.ts";
import { applyEvent, foldConversation } from "../model/conversation.ts";
import type { Conversation } from "../model/conversation-state.ts";
import { consume, daemon, hasDaemon } from "./link.ts";
import { addEvents, createStore, type SessionStore } from "./store.ts";

export const current = signal<SessionStore | null>(null);

/** A session of any length is shown from its end at once: this much of it. */
const TAIL = 2_000;
/** A page of older events. */
const PAGE = 10_000;
/** More than this is not held in the page. */
export const MOST_EVENTS = 250_000;

interface Following {
  readonly store: SessionStore;
  /** Events that came while others were asked for. */
  held: UniversalEvent[];
  /** Not null while events are asked for. */
  busy: Promise<void> | null;
  detail: SessionDetail | null;
}

/** Those that are shown: one, or those of a comparison. */
const followed = new Map<SessionStore, Following>();

export function startSession(): void {
  consume({
    opened: () => {
      for (const one of followed.values()) if (one.store.progress.value.state === "ready") catchUp(one);
    },
    took: (events) => {
      for (const one of followed.values()) take(one, events);
    },
  });
}

export function openSession(id: string): void {
  const shown = current.value;
  if (shown !== null && shown.id === id && followed.has(shown)) return;
  if (!hasDaemon()) return;
  closeSession();
  current.value = follow(id);
}

export function closeSession(): void {
  if (current.value !== null) unfollow(current.value);
  current.value = null;
}

/** The session with what comes, until `unfollow`. */
export function follow(id: string): SessionStore {
  const store = createStore({ id, kind: "session" });
  const opened: Following = { store, held: [], busy: null, detail: null };
  followed.set(store, opened);
  opened.busy = load(opened).finally(() => {
    opened.busy = null;
    drain(opened);
  });
  return store;
}

export const unfollow = (store: SessionStore): boolean => followed.delete(store);

async function load(opened: Following): Promise<void> {
  const { store } = opened;
  try {
    const detail = await readDetail(store.id);
    opened.detail = detail;
    const last = detail.lastSequence;
    const events = await readRange(store.id, { after: Math.max(0, last - TAIL), last });
    store.events = events;
    store.live = foldConversation(events);
    seed(store.live, detail);
    store.hasEarlier.value = (events[0]?.sequence ?? 1) > 1;
    store.progress.value = { state: "ready" };
    store.rev.value += 1;
  } catch (error) {
    store.progress.value = { state: "missing", message: wordsOf(error) };
  }
}

/** As many items as may be open at once: closed ones come with the events, and may be long. */
const OPEN_ITEMS = 50;

async function readDetail(id: string): Promise<SessionDetail> {
  const detail = await daemon().session(id).get({ limit: 0 });
  return detail.status === "idle" ? detail : daemon().session(id).get({ limit: OPEN_ITEMS });
}

export function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/** Events with `after < sequence ≤ last`. */
async function readRange(
  id: string,
  { after, last }: { readonly after: number; readonly last: number },
): Promise<UniversalEvent[]> {
  const events: UniversalEvent[] = [];
  for (let offset = after; offset < last; ) {
    const page = await daemon()
      .session(id)
      .listEvents({ offset, limit: Math.min(PAGE, last - offset) });
    events.push(...page.events);
    const end = page.events.at(-1)?.sequence;
    if (end === undefined) return events;
    offset = end;
  }
  return events;
}

/** What the events that were loaded do not say, because it was said before them. */
function seed(conversation: Conversation, detail: SessionDetail): void {
  conversation.agent ||= detail.agent;
  conversation.model ??= detail.model;
  conversation.variant ??= detail.variant;
  conversation.mode ??= detail.agentMode;
  conversation.permissionMode ??= detail.permissionMode;
  conversation.directory ??= detail.directory;
  conversation.title = detail.title;
  conversation.trusted ??= detail.trusted;
  conversation.status = detail.status;
  conversation.todos = detail.todos;
  conversation.queue = detail.queue;
  conversation.usage = detail.usage;
  if (detail.ended) conversation.ended ??= "The session was ended.";
  const event = { sequence: conversation.sequence, time: detail.updatedAt };
  for (const data of detail.pendingPermissions) {
    if (!conversation.requests.has(data.permission_id)) {
      applyEvent(conversation, madeUp(event, { type: "permission.requested", data }, detail));
    }
  }
  for (const data of detail.pendingQuestions) {
    if (!conversation.requests.has(data.question_id)) {
      applyEvent(conversation, madeUp(event, { type: "question.requested", data }, detail));
    }
  }
  // Blocks that began before the part that was loaded are whole in the snapshot.
  for (const item of detail.items) {
    if (item.status !== "in_progress") continue;
    const known = conversation.texts.get(item.item_id);
    if (known === undefined) {
      applyEvent(conversation, madeUp(event, { type: "item.started", data: { item } }, detail));
    } else {
      const [part] = item.content;
      if (part?.type === "text" || part?.type === "reasoning") known.text = part.text;
    }
  }
}

type Made = Extract<UniversalEvent, { type: "permission.requested" | "question.requested" | "item.started" }>;
type Draft = Pick<Made, "type" | "data">;

function madeUp(
  { sequence, time }: { readonly sequence: number; readonly time: string },
  draft: Draft,
  detail: SessionDetail,
): UniversalEvent {
  const envelope: unknown = {
    ...draft,
    event_id: `${detail.sessionId}:${sequence}`,
    sequence,
    time,
    session_id: detail.sessionId,
    native_session_id: detail.nativeSessionId,
    turn_id: detail.turnId,
    source: "daemon",
    synthetic: true,
    raw: null,
    cause: { line: null },
    v: 1,
  };
  if (!isEvent(envelope)) throw new Error("An event was made up that is none.");
  return envelope;
}

const isEvent = (value: unknown): value is UniversalEvent =>
  typeof value === "object" && value !== null && "type" in value && "data" in value;

function take(opened: Following, events: readonly UniversalEvent[]): void {
  const { store } = opened;
  for (const event of events) if (event.session_id === store.id) opened.held.push(event);
  if (opened.held.length > 0) drain(opened);
}

/** Applies what is next in order; a gap is filled from the log. */
function drain(opened: Following): void {
  const { store } = opened;
  if (opened.busy !== null || store.progress.value.state !== "ready") return;
  const held = opened.held;
  opened.held = [];
  let last = lastOf(opened);
  const fresh: UniversalEvent[] = [];
  for (const event of held) {
    if (event.sequence <= last) continue;
    if (event.sequence !== last + 1) {
      opened.held = held;
      addEvents(store, fresh);
      return catchUp(opened);
    }
    fresh.push(event);
    last = event.sequence;
  }
  addEvents(store, fresh);
}

const lastOf = ({ store, detail }: Following): number => store.events.at(-1)?.sequence ?? detail?.lastSequence ?? 0;

function catchUp(opened: Following): void {
  if (opened.busy !== null) return;
  opened.busy = readNew(opened).finally(() => {
    opened.busy = null;
    drain(opened);
  });
}

async function readNew(opened: Following): Promise<void> {
  try {
    for (let hasMore = true; hasMore; ) {
      const page = await daemon()
        .session(opened.store.id)
        .listEvents({ offset: lastOf(opened), limit: PAGE });
      const last = lastOf(opened);
      addEvents(
        opened.store,
        page.events.filter(({ sequence }) => sequence > last),
      );
      hasMore = page.hasMore && page.events.length > 0;
    }
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) {
      opened.store.progress.value = { state: "missing", message: wordsOf(error) };
    }
    // Else the daemon is gone: it is asked again when the stream is open again.
    opened.held = [];
  }
}

/** Pages of older events that are on their way. */
const loading = new WeakMap<SessionStore, Promise<void>>();

/** Loads older events: a page, or everything that a page may hold. Who scrolls and clicks gets one page, not two. */
export function loadEarlier(store: SessionStore, { all }: { readonly all: boolean }): Promise<void> {
  if (all) return readEarlier(store, { all });
  const page = loading.get(store) ?? readEarlier(store, { all }).finally(() => loading.delete(store));
  loading.set(store, page);
  return page;
}

async function readEarlier(store: SessionStore, { all }: { readonly all: boolean }): Promise<void> {
  if (!store.hasEarlier.value || store.kind !== "session") return;
  const first = store.events[0]?.sequence ?? 1;
  const room = MOST_EVENTS - store.events.length;
  if (room <= 0) return;
  const wanted = all ? room : PAGE;
  const older = await readRange(store.id, { after: Math.max(0, first - 1 - wanted), last: first - 1 });
  // Somebody else may have loaded the same meanwhile.
  if ((store.events[0]?.sequence ?? 1) !== first) return;
  store.events = [...older, ...store.events];
  const live = foldConversation(store.events);
  const detail = followed.get(store)?.detail ?? null;
  if (detail !== null && (store.events[0]?.sequence ?? 1) > 1) seedHead(live, detail);
  store.live = live;
  store.hasEarlier.value = (store.events[0]?.sequence ?? 1) > 1;
  if (store.at.value !== null) store.at.value += older.length;
  store.rev.value += 1;
}

/** What only the first event of a session says. */
function seedHead(conversation: Conversation, detail: SessionDetail): void {
  conversation.agent ||= detail.agent;
  conversation.model ??= detail.model;
  conversation.directory ??= detail.directory;
  conversation.permissionMode ??= detail.permissionMode;
  conversation.title ??= detail.title;
}
