/**
 * The latest groups of all sessions in a bounded ring, so that readers who keep up share the same bytes. Readers hold
 * cursors: one who falls behind the ring goes on from the log, fills no memory and slows nobody.
 */
import type { SessionId } from "../../protocol/ids.ts";
import { type Aging, openAging } from "./aging.ts";
import type { EventGroup, EventLog, Follow } from "./contract.ts";
import { firstGroup } from "./search.ts";

const TAIL_BYTES = 8 * 1024 * 1024;
/** Readers who keep up have read a group long before that: it is dropped then, at the latest after twice the time. */
const KEPT_MS = 250;
/** How much a reader who is behind takes from the log at a time. */
const READ_BYTES = 512 * 1024;
/** How often we look whether another process has written, while there are readers. */
const ELSEWHERE_MS = 250;
/** How often every reader looks itself, while other processes write: it also finds that its session was deleted. */
const LOOK_MS = 5_000;
/** The ring is copied when this many groups, and half of it, were dropped. */
const COPIED_AFTER = 1_000;

export interface Tail {
  /** History, then live, without a gap and without a repeat. Ends with the signal, or when the session is deleted. */
  readonly follow: (id: SessionId, follow: Follow) => AsyncIterable<EventGroup>;
  readonly followAll: (follow: Follow) => AsyncIterable<EventGroup>;
  /** The session is deleted: its readers are done. */
  readonly remove: (id: SessionId) => void;
  readonly close: () => void;
}

interface Reader {
  removed: boolean;
  /** Set while the reader waits for news. */
  wake: (() => void) | null;
}

interface State {
  readonly log: EventLog;
  readonly maxBytes: number;
  /** Oldest first; positions grow. Entries before `start` were dropped and hold nothing. */
  ring: (EventGroup | undefined)[];
  start: number;
  bytes: number;
  readonly bySession: Map<SessionId, EventGroup[]>;
  /** Readers by session; null holds those of all sessions. */
  readonly readers: Map<SessionId | null, Set<Reader>>;
  /** Counts what there was to hear, so that nothing that comes between a look and the wait is missed. */
  news: number;
  /** Counts when every reader shall look into the log itself. */
  elsewhere: number;
  /** What other processes wrote is read once for all readers, and joins the ring: up to this position it has. */
  seen: number;
  /** Counts what was heard of other processes. */
  heard: number;
  reading: boolean;
  /** Something came during a read: another one follows. */
  again: boolean;
  lookedAt: number;
  /** Reads under way, by what they read: readers at the same place share one. */
  readonly reads: Map<string, Promise<readonly EventGroup[]>>;
  poll: NodeJS.Timeout | null;
  /** Drops old groups: those up to this position were there at the last look. */
  readonly aging: Aging;
  old: number;
  closed: boolean;
}

export interface TailOptions {
  readonly maxBytes?: number;
  readonly keptMs?: number;
}

export function openTail(log: EventLog, { maxBytes = TAIL_BYTES, keptMs = KEPT_MS }: TailOptions = {}): Tail {
  const state: State = {
    log,
    maxBytes,
    ring: [],
    start: 0,
    bytes: 0,
    bySession: new Map(),
    readers: new Map(),
    news: 0,
    elsewhere: 0,
    seen: 0,
    heard: 0,
    reading: false,
    again: false,
    lookedAt: 0,
    reads: new Map(),
    poll: null,
    aging: openAging(keptMs, () => forget(state)),
    old: 0,
    closed: false,
  };
  log.onCommitted((groups) => publish(state, groups));
  log.onElsewhere(() => readInBackground(state));
  return {
    follow: (id, follow) => followSession(state, id, follow),
    followAll: (follow) => followEverything(state, follow),
    remove: (id) => remove(state, id),
    close() {
      state.closed = true;
      state.aging.cancel();
      if (state.poll !== null) clearInterval(state.poll);
      wakeAll(state);
    },
  };
}

function publish(state: State, groups: readonly EventGroup[]): void {
  const added = groups.filter((group) => {
    if (group.position === state.seen + 1) state.seen = group.position;
    return place(state, group);
  });
  while (state.bytes > state.maxBytes && state.start < state.ring.length) evict(state);
  if (state.start > COPIED_AFTER && state.start * 2 > state.ring.length) {
    state.ring = state.ring.slice(state.start);
    state.start = 0;
  }
  if (added.length === 0) return;
  state.aging.touch();
  state.news += 1;
  for (const group of added) wake(state, group.session);
  wake(state, null);
}

/** In the order of positions, which is seldom not the end: what another process wrote may be read later. */
function place(state: State, group: EventGroup): boolean {
  if (!insert(state.ring, group, state.start)) return false;
  state.bytes += group.size;
  const own = state.bySession.get(group.session);
  if (own === undefined) state.bySession.set(group.session, [group]);
  else insert(own, group, 0);
  return true;
}

/** False where it is there already. */
function insert(groups: (EventGroup | undefined)[], group: EventGroup, start: number): boolean {
  let at = groups.length;
  while (at > start && (groups[at - 1]?.position ?? 0) > group.position) at -= 1;
  if (at > start && groups[at - 1]?.position === group.position) return false;
  if (at === groups.length) groups.push(group);
  else groups.splice(at, 0, group);
  return true;
}

function evict(state: State): void {
  const group = state.ring[state.start];
  state.ring[state.start] = undefined;
  state.start += 1;
  if (group === undefined) return;
  state.bytes -= group.size;
  const own = state.bySession.get(group.session);
  own?.shift();
  if (own?.length === 0) state.bySession.delete(group.session);
}

function forget(state: State): boolean {
  while ((state.ring[state.start]?.position ?? Number.POSITIVE_INFINITY) <= state.old) evict(state);
  state.ring = state.ring.slice(state.start);
  state.start = 0;
  state.old = state.ring.at(-1)?.position ?? 0;
  return state.ring.length > 0;
}

function remove(state: State, id: SessionId): void {
  for (const group of state.bySession.get(id) ?? []) state.bytes -= group.size;
  state.ring = state.ring.slice(state.start).filter((group) => group?.session !== id);
  state.start = 0;
  state.bySession.delete(id);
  for (const reader of state.readers.get(id) ?? []) reader.removed = true;
  state.news += 1;
  wake(state, id);
}

async function* followSession(state: State, id: SessionId, { signal, after }: Follow): AsyncGenerator<EventGroup> {
  const { reader, leave } = join(state, id, signal);
  let cursor = after;
  let elsewhere = -1;
  try {
    while (isOpen(state, { reader, signal })) {
      const { news } = state;
      const groups = state.bySession.get(id) ?? [];
      const next = groups[firstGroup(groups, (group) => group.last > cursor)];
      let ready: readonly EventGroup[] = [];
      if (next !== undefined && next.first <= cursor + 1) ready = [next];
      // The ring does not reach back to the cursor, or it cannot know: the log does.
      else if (groups.at(-1)?.last !== cursor || elsewhere !== state.elsewhere) {
        elsewhere = state.elsewhere;
        ready = await read(reader, () => readSession(state, id, cursor));
      }
      for (const group of ready) {
        if (!isOpen(state, { reader, signal })) return;
        cursor = group.last;
        yield group;
      }
      if (ready.length === 0) await untilNews(state, { reader, news, signal });
    }
  } finally {
    leave();
  }
}

async function* followEverything(state: State, { signal, after }: Follow): AsyncGenerator<EventGroup> {
  const { reader, leave } = join(state, null, signal);
  let cursor = after;
  let elsewhere = -1;
  try {
    while (isOpen(state, { reader, signal })) {
      const { news } = state;
      const at = firstGroup(state.ring, (group) => group.position > cursor);
      const next = state.ring[Math.max(state.start, at)];
      let ready: readonly EventGroup[] = [];
      if (next !== undefined && next.position === cursor + 1) ready = [next];
      // Positions have gaps where another process wrote, or a session was deleted: then the log knows what came first.
      else if (cursor !== state.seen || elsewhere !== state.elsewhere) {
        elsewhere = state.elsewhere;
        ready = await read(reader, () => readAll(state, cursor));
      }
      for (const group of ready) {
        if (!isOpen(state, { reader, signal })) return;
        cursor = group.position;
        yield group;
      }
      if (ready.length === 0) await untilNews(state, { reader, news, signal });
    }
  } finally {
    leave();
  }
}

interface Attention {
  readonly reader: Reader;
  readonly signal: AbortSignal;
}

const isOpen = (state: State, { reader, signal }: Attention): boolean =>
  !signal.aborted && !state.closed && !reader.removed;

/** A session that is deleted while it is read is simply over. */
async function read(reader: Reader, work: () => Promise<readonly EventGroup[]>): Promise<readonly EventGroup[]> {
  try {
    return await work();
  } catch (error) {
    if (reader.removed) return [];
    throw error;
  }
}

function join(state: State, id: SessionId | null, signal: AbortSignal): { reader: Reader; leave: () => void } {
  const reader: Reader = { removed: false, wake: null };
  const readers = state.readers.get(id) ?? new Set();
  readers.add(reader);
  state.readers.set(id, readers);
  if (state.log.shared && state.poll === null && !state.closed) {
    state.seen = state.log.position();
    state.poll = watchElsewhere(state);
  }
  const onAbort = (): void => reader.wake?.();
  signal.addEventListener("abort", onAbort);
  return {
    reader,
    leave() {
      signal.removeEventListener("abort", onAbort);
      readers.delete(reader);
      if (readers.size === 0 && state.readers.get(id) === readers) state.readers.delete(id);
      if (state.readers.size > 0 || state.poll === null) return;
      clearInterval(state.poll);
      state.poll = null;
    },
  };
}

function watchElsewhere(state: State): NodeJS.Timeout {
  const timer = setInterval(() => {
    if (hasChanged(state.log)) readInBackground(state);
  }, ELSEWHERE_MS);
  return timer.unref();
}

/** After any error, each reader reads on its own and gets the error itself. */
function readInBackground(state: State): void {
  readElsewhere(state).catch(() => lookAll(state));
}

/** One read for all readers, whichever session they follow; those whose session has nothing new are not woken. */
async function readElsewhere(state: State): Promise<void> {
  state.again = true;
  state.heard += 1;
  if (state.reading || state.readers.size === 0) return;
  state.reading = true;
  try {
    while (state.again && !state.closed && state.readers.size > 0) {
      state.again = false;
      const groups = await readAll(state, state.seen);
      state.seen = Math.max(state.seen, groups.at(-1)?.position ?? 0);
      publish(state, groups);
      if (groups.length > 0) state.again = true;
    }
  } catch {
    // Each reader reads for itself then, and gets the error.
    lookAll(state);
  } finally {
    state.reading = false;
  }
  if (performance.now() - state.lookedAt > LOOK_MS) lookAll(state);
}

function lookAll(state: State): void {
  state.lookedAt = performance.now();
  state.elsewhere += 1;
  state.news += 1;
  wakeAll(state);
}

const readSession = (state: State, id: SessionId, after: number): Promise<readonly EventGroup[]> =>
  shared(state, `${after} ${id}`, () => state.log.read(id, { after, maxBytes: READ_BYTES }));

const readAll = (state: State, after: number): Promise<readonly EventGroup[]> =>
  shared(state, String(after), () => state.log.readAll({ after, maxBytes: READ_BYTES }));

/** Readers that ask for the same share one answer, unless something came since it was asked for. */
function shared(
  { reads, news, heard }: State,
  what: string,
  work: () => Promise<readonly EventGroup[]>,
): Promise<readonly EventGroup[]> {
  const name = `${news} ${heard} ${what}`;
  const running = reads.get(name);
  if (running !== undefined) return running;
  const started = work().finally(() => reads.delete(name));
  reads.set(name, started);
  return started;
}

/** A log that cannot be read now is read again when a reader asks, which then gets the error. */
function hasChanged(log: EventLog): boolean {
  try {
    return log.changedElsewhere();
  } catch {
    return false;
  }
}

function untilNews(state: State, { reader, news, signal }: Attention & { readonly news: number }): Promise<void> {
  if (state.news !== news || !isOpen(state, { reader, signal })) return Promise.resolve();
  return new Promise((resolve) => {
    reader.wake = () => {
      reader.wake = null;
      resolve();
    };
  });
}

function wake(state: State, id: SessionId | null): void {
  for (const reader of state.readers.get(id) ?? []) reader.wake?.();
}

function wakeAll(state: State): void {
  for (const id of state.readers.keys()) wake(state, id);
}
