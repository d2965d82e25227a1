/**
 * The one place where universal events become OpenCode's: a projection per session, shared by all clients, fed in
 * the order of the log. What was told lately is in a ring; clients hold a cursor into it and fall back on the log.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { OpenCodeEvent, OpenCodeStatus } from "../../dialects/opencode.ts";
import { type OpenCodeOptions, openCodeSessionId, projectId } from "../../projections/opencode/index.ts";
import { hasCode } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import { eventsOf } from "../../runtime/log/codec/group.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { EventGroup, Sessions } from "../../runtime/session/contract.ts";
import { openBreaks } from "./breaks.ts";
import { isDue, keep, openFromCheckpoint } from "./checkpoints.ts";
import { type Live, openLive, statusOf, tell } from "./live.ts";

/** What one universal event was to OpenCode's clients, encoded once. */
export interface Told {
  /** Where the log has it: `<position>.<index>`; empty for what is not in the log. */
  readonly at: string;
  readonly events: readonly string[];
}

/** All that one committed group told. */
export interface Batch {
  readonly index: number;
  readonly position: number;
  readonly directory: string;
  readonly project: string;
  readonly told: readonly Told[];
  readonly size: number;
}

export interface Retelling {
  /** Resolves when everything before now is known. */
  readonly ready: () => Promise<void>;
  /** The session, root or child, by OpenCode's id; null when there is none. */
  readonly find: (id: string) => Promise<Live | null>;
  readonly statuses: () => Map<string, OpenCodeStatus>;
  readonly lives: () => readonly Live[];
  readonly ring: Ring;
  /** Says something that is not in the log, such as that a session was deleted. */
  readonly say: (json: string, where: { readonly directory: string }) => void;
  /** The session is no more; one that was made under its name since stays. */
  readonly forget: (live: Live) => void;
  /** Called with each event after it was told. */
  readonly onEvent: (listener: (live: Live, event: UniversalEvent) => void) => () => void;
  /** A session that this daemon knows, whoever made it, by OpenCode's id. */
  readonly sessionOf: (id: string) => Promise<SessionId | null>;
}

export interface Ring {
  readonly first: () => number;
  readonly next: () => number;
  readonly get: (index: number) => Batch | undefined;
  readonly position: () => number;
  /** Resolves when there is a batch with this index, or the signal fires. */
  readonly news: (index: number, signal: AbortSignal) => Promise<void>;
}

const RING_BYTES = 8 * 1024 * 1024;
const IDLE_LIVES = 100;
/** How long a log that could not be read is left alone. */
const RETRY_MS = 250;

interface State {
  readonly sessions: Sessions;
  readonly options: OpenCodeOptions;
  readonly stopped: AbortSignal;
  readonly logger: Logger;
  readonly ringBytes: number;
  readonly lives: Map<SessionId, Live>;
  /** Those that were let go, while somebody else still holds them. */
  readonly held: Map<SessionId, WeakRef<Live>>;
  /** Those that are being read from the log: others are told of meanwhile. */
  readonly loading: Map<SessionId, Promise<Live>>;
  /** OpenCode's ids of sessions and subagents to the session they are in. */
  readonly names: Map<string, SessionId>;
  readonly listeners: Set<(live: Live, event: UniversalEvent) => void>;
  position: number;
  batches: Batch[];
  next: number;
  size: number;
  readonly waiting: Set<() => void>;
  uses: number;
}

type RetellingOptions = Pick<State, "sessions" | "options" | "stopped" | "logger"> & Partial<Pick<State, "ringBytes">>;

export function openRetelling(options: RetellingOptions): Retelling {
  const state = startState(options);
  // Nobody pays for this surface before its first use.
  let started: Promise<void> | null = null;
  const ready = (): Promise<void> => {
    started ??= start(state).catch((error: unknown) => {
      // Whoever comes next may have more luck.
      started = null;
      throw error;
    });
    return started;
  };
  return {
    ready,
    find: async (id) => {
      await ready();
      const session = await sessionNamed(state, id);
      return session === null ? null : load(state, session);
    },
    sessionOf: async (id) => {
      await ready();
      return sessionNamed(state, id);
    },
    statuses: () => statusesOf(state),
    lives: () => [...state.lives.values()],
    ring: ringOf(state),
    say: (json, { directory }) => {
      const told = [{ at: "", events: [json] }];
      publish(state, { position: state.position, directory, told });
    },
    forget: (live) => {
      const { id } = live;
      if ((knownIn(state, id) ?? live) !== live) return;
      state.lives.delete(id);
      state.held.delete(id);
      state.loading.delete(id);
      for (const [name, session] of state.names) if (session === id) state.names.delete(name);
    },
    onEvent: (listener) => {
      state.listeners.add(listener);
      return () => state.listeners.delete(listener);
    },
  };
}

const startState = (options: RetellingOptions): State => ({
  ringBytes: RING_BYTES,
  ...options,
  lives: new Map(),
  held: new Map(),
  loading: new Map(),
  names: new Map(),
  listeners: new Set(),
  position: 0,
  batches: [],
  next: 0,
  size: 0,
  waiting: new Set(),
  uses: 0,
});

async function start(state: State): Promise<void> {
  state.position = state.sessions.position();
  const busy = (await state.sessions.list()).filter(({ status }) => status !== "idle");
  for (const { sessionId: id } of busy) await loadUnlessGone(state, sessionId(id));
  void pump(state);
}

/** Until the daemon stops: what could not be read now is read a little later. */
async function pump(state: State): Promise<void> {
  const { sessions, stopped, logger } = state;
  while (!stopped.aborted) {
    try {
      for await (const group of sessions.followAll({ after: state.position, signal: stopped })) {
        await takeOrLeave(state, group);
      }
      return;
    } catch (error) {
      if (!stopped.aborted) logger.error("opencode.log_not_read", { error });
      await delay(RETRY_MS, undefined, { signal: stopped }).catch(() => undefined);
    }
  }
}

/** A mistake of ours with one session does not silence the others; it is read anew when it is next needed. */
async function takeOrLeave(state: State, group: EventGroup): Promise<void> {
  try {
    await take(state, group);
  } catch (error) {
    if (hasCode(error, "storage_error")) throw error;
    state.logger.error("opencode.session_not_told", { session: group.session, error });
    state.lives.delete(group.session);
    state.position = group.position;
  }
}

async function take(state: State, group: EventGroup): Promise<void> {
  await state.loading.get(group.session)?.catch(() => undefined);
  // A session that was deleted and made again under its name begins anew.
  const known = knownIn(state, group.session);
  const isNew = group.first <= 1 && (known === null || known.sequence >= group.first);
  const live = isNew
    ? enter(state, openLive(group.session, state.options))
    : await loadUnlessGone(state, group.session);
  if (live === null) return;
  const told: Told[] = [];
  const events = eventsOf(group);
  for (const [index, event] of events.entries()) {
    if (event.sequence <= live.sequence) continue;
    const retold = tell(live, event);
    for (const one of retold) nameChildren(state, { live, event: one });
    if (retold.length === 0) continue;
    told.push({ at: `${group.position}.${index}`, events: retold.map((one) => JSON.stringify(one)) });
  }
  live.pace.bytes += group.packed.length;
  state.position = group.position;
  if (told.length > 0) publish(state, { position: group.position, directory: live.state.directory, told });
  for (const event of events) for (const listener of state.listeners) listener(live, event);
  if (isDue(live.pace)) await putBy(state, live);
}

/** A session may be deleted before its last events are told. */
async function loadUnlessGone(state: State, id: SessionId): Promise<Live | null> {
  try {
    return await load(state, id);
  } catch (error) {
    if (hasCode(error, "session_not_found")) return null;
    throw error;
  }
}

const knownIn = (state: State, id: SessionId): Live | null =>
  state.lives.get(id) ?? state.held.get(id)?.deref() ?? null;

function enter(state: State, live: Live): Live {
  state.lives.set(live.id, live);
  state.held.delete(live.id);
  for (const name of [live.openCodeId, ...live.store.sessions.keys()]) state.names.set(name, live.id);
  touch(state, live);
  if (state.lives.size > IDLE_LIVES) evict(state);
  return live;
}

async function load(state: State, id: SessionId): Promise<Live> {
  const known = knownIn(state, id);
  if (known !== null) return state.lives.has(id) ? touch(state, known) : enter(state, known);
  const loading = state.loading.get(id);
  if (loading !== undefined) return loading;
  const begun = readUp(state, id);
  state.loading.set(id, begun);
  try {
    const live = await begun;
    // A session that was deleted meanwhile is not kept.
    if (state.loading.get(id) === begun) enter(state, live);
    return live;
  } finally {
    if (state.loading.get(id) === begun) state.loading.delete(id);
  }
}

/**
 * From what was put by and the log, as far as has been told: what comes after is the pump's to tell, which waits for
 * this when it comes to an event of the session.
 */
async function readUp(state: State, id: SessionId): Promise<Live> {
  const { position } = state;
  const { lastSequence } = await state.sessions.get(id, { limit: 0 });
  const live = await openFromCheckpoint(state.sessions.projections, id, state.options);
  if (lastSequence <= live.sequence) return live;
  const breakDue = openBreaks();
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, state.stopped]);
  for await (const group of state.sessions.follow(id, { after: live.sequence, signal })) {
    if (group.position > position) break;
    for (const event of eventsOf(group, live.sequence)) {
      for (const one of tell(live, event)) nameChildren(state, { live, event: one });
      const pause = breakDue();
      if (pause !== null) await pause;
    }
    live.pace.bytes += group.packed.length;
    if (isDue(live.pace)) await putBy(state, live);
    if (group.last >= lastSequence) break;
  }
  done.abort();
  return live;
}

/** Whatever happens to what is put by, the events are there to begin with again. */
async function putBy(state: State, live: Live): Promise<void> {
  const { projections } = state.sessions;
  try {
    if (await keep(projections, live)) return;
    // Somebody else has put something by: those who hold this session must see it go on.
    Object.assign(live, await readUp(state, live.id));
  } catch (error) {
    if (hasCode(error, "session_not_found")) return;
    state.logger.warn("opencode.checkpoint_failed", { session: live.id, error });
  }
}

function touch(state: State, live: Live): Live {
  state.uses += 1;
  live.usedAt = state.uses;
  return live;
}

/** Sessions at rest are let go when there are many: the log has them, and those who hold one still see it go on. */
function evict(state: State): void {
  const idle = [...state.lives.values()].filter((live) =>
    [...live.store.sessions.values()].every(({ status }) => status.type === "idle"),
  );
  idle.sort((one, other) => one.usedAt - other.usedAt);
  for (const live of idle.slice(0, Math.max(0, idle.length - IDLE_LIVES))) {
    state.lives.delete(live.id);
    state.held.set(live.id, new WeakRef(live));
  }
  for (const [id, live] of state.held) if (live.deref() === undefined) state.held.delete(id);
}

function nameChildren(state: State, { live, event }: { live: Live; event: OpenCodeEvent }): void {
  if (event.type === "session.created") state.names.set(event.properties.info.id, live.id);
}

/** Ids are made of ours; those of subagents are known once their session was read. */
async function sessionNamed(state: State, id: string): Promise<SessionId | null> {
  const known = state.names.get(id);
  if (known !== undefined) return known;
  const all = await state.sessions.list();
  for (const { sessionId: own } of all) state.names.set(openCodeSessionId(own), sessionId(own));
  if (state.names.has(id)) return state.names.get(id) ?? null;
  const recent = [...all].sort((one, other) => other.updatedAt.localeCompare(one.updatedAt)).slice(0, IDLE_LIVES);
  for (const { sessionId: own } of recent) {
    await loadUnlessGone(state, sessionId(own));
    if (state.names.has(id)) return state.names.get(id) ?? null;
  }
  return null;
}

function statusesOf(state: State): Map<string, OpenCodeStatus> {
  const statuses = new Map<string, OpenCodeStatus>();
  for (const live of state.lives.values()) {
    for (const id of live.store.sessions.keys()) {
      const status = statusOf(live, id);
      if (status.type !== "idle") statuses.set(id, status);
    }
  }
  return statuses;
}

function publish(state: State, { position, directory, told }: Pick<Batch, "position" | "directory" | "told">): void {
  const size = told.reduce((sum, { events }) => sum + events.reduce((all, text) => all + text.length, 0), 0);
  state.batches.push({ index: state.next, position, directory, project: projectId(directory), told, size });
  state.next += 1;
  state.size += size;
  while (state.size > state.ringBytes && state.batches.length > 1) state.size -= state.batches.shift()?.size ?? 0;
  for (const wake of [...state.waiting]) wake();
}

function ringOf(state: State): Ring {
  const first = (): number => state.next - state.batches.length;
  return {
    first,
    next: () => state.next,
    get: (index) => state.batches[index - first()],
    position: () => state.position,
    news: (index, signal) => {
      if (state.next > index || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          state.waiting.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        state.waiting.add(wake);
        signal.addEventListener("abort", wake);
      });
    },
  };
}
