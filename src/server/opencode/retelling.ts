/**
 * The one place where universal events become OpenCode's: a projection per session, shared by all clients, fed in
 * the order of the log. What was told lately is in a ring; clients hold a cursor into it and fall back on the log.
 */
import type { OpenCodeEvent, OpenCodeStatus } from "../../dialects/opencode.ts";
import { type OpenCodeOptions, openCodeSessionId, projectId } from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { EventGroup, Sessions } from "../../runtime/contract.ts";
import { eventsOf } from "../../runtime/log/group.ts";
import type { Logger } from "../../runtime/logger.ts";
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
  readonly forget: (id: SessionId) => void;
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

const RING_SIZE = 8 * 1024 * 1024;
const IDLE_LIVES = 100;

interface State {
  readonly sessions: Sessions;
  readonly options: OpenCodeOptions;
  readonly stopped: AbortSignal;
  readonly lives: Map<SessionId, Live>;
  /** OpenCode's ids of sessions and subagents to the session they are in. */
  readonly names: Map<string, SessionId>;
  readonly listeners: Set<(live: Live, event: UniversalEvent) => void>;
  position: number;
  batches: Batch[];
  next: number;
  size: number;
  readonly waiting: Set<() => void>;
  /** Loading and telling happen one after another. */
  last: Promise<unknown>;
  uses: number;
}

export function openRetelling({
  sessions,
  options,
  stopped,
  logger,
}: {
  sessions: Sessions;
  options: OpenCodeOptions;
  stopped: AbortSignal;
  logger: Logger;
}): Retelling {
  const state: State = {
    sessions,
    options,
    stopped,
    lives: new Map(),
    names: new Map(),
    listeners: new Set(),
    position: 0,
    batches: [],
    next: 0,
    size: 0,
    waiting: new Set(),
    last: Promise.resolve(),
    uses: 0,
  };
  // Nobody pays for this surface before its first use.
  let started: Promise<void> | null = null;
  const ready = (): Promise<void> => {
    started ??= start(state, logger);
    return started;
  };
  return {
    ready,
    find: async (id) => {
      await ready();
      const session = await sessionNamed(state, id);
      return session === null ? null : exclusively(state, () => load(state, session));
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
    forget: (id) => {
      state.lives.delete(id);
      for (const [name, session] of state.names) if (session === id) state.names.delete(name);
    },
    onEvent: (listener) => {
      state.listeners.add(listener);
      return () => state.listeners.delete(listener);
    },
  };
}

async function start(state: State, logger: Logger): Promise<void> {
  state.position = state.sessions.position();
  const busy = (await state.sessions.list()).filter(({ status }) => status !== "idle");
  for (const { sessionId: id } of busy) await exclusively(state, () => load(state, sessionId(id)));
  void pump(state).catch((error: unknown) => {
    if (!state.stopped.aborted) logger.error("opencode.retelling_failed", { error });
  });
}

async function pump(state: State): Promise<void> {
  for await (const group of state.sessions.followAll({ after: state.position, signal: state.stopped })) {
    await exclusively(state, () => take(state, group));
  }
}

function exclusively<T>(state: State, work: () => Promise<T>): Promise<T> {
  const result = state.last.then(work);
  state.last = result.catch(() => undefined);
  return result;
}

async function take(state: State, group: EventGroup): Promise<void> {
  // A session that was deleted and made again under its name begins anew.
  const known = state.lives.get(group.session);
  if (known !== undefined && group.first <= 1 && known.sequence >= group.first) state.lives.delete(group.session);
  const live = group.first <= 1 ? begin(state, group.session) : await load(state, group.session);
  const told: Told[] = [];
  const events = eventsOf(group);
  for (const [index, event] of events.entries()) {
    if (event.sequence <= live.sequence) continue;
    const retold = tell(live, event);
    for (const one of retold) nameChildren(state, { live, event: one });
    if (retold.length === 0) continue;
    told.push({ at: `${group.position}.${index}`, events: retold.map((one) => JSON.stringify(one)) });
  }
  state.position = group.position;
  if (told.length > 0) publish(state, { position: group.position, directory: live.state.directory, told });
  for (const event of events) for (const listener of state.listeners) listener(live, event);
}

function begin(state: State, id: SessionId): Live {
  const live = state.lives.get(id) ?? openLive(id, state.options);
  state.lives.set(id, live);
  state.names.set(live.openCodeId, id);
  touch(state, live);
  return live;
}

/** From the log, as far as has been told: what comes after is the pump's to tell. */
async function load(state: State, id: SessionId): Promise<Live> {
  const known = state.lives.get(id);
  if (known !== undefined) {
    touch(state, known);
    return known;
  }
  const { lastSequence } = await state.sessions.get(id, { limit: 0 });
  const live = begin(state, id);
  if (lastSequence === 0) return live;
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, state.stopped]);
  for await (const group of state.sessions.follow(id, { after: 0, signal })) {
    if (group.position > state.position) break;
    for (const event of eventsOf(group)) {
      for (const one of tell(live, event)) nameChildren(state, { live, event: one });
    }
    if (group.last >= lastSequence) break;
  }
  done.abort();
  evict(state);
  return live;
}

function touch(state: State, live: Live): void {
  state.uses += 1;
  live.usedAt = state.uses;
}

/** Sessions at rest are let go when there are many; the log has them. */
function evict(state: State): void {
  const idle = [...state.lives.values()].filter((live) =>
    [...live.store.sessions.values()].every(({ status }) => status.type === "idle"),
  );
  idle.sort((one, other) => one.usedAt - other.usedAt);
  for (const live of idle.slice(0, Math.max(0, idle.length - IDLE_LIVES))) state.lives.delete(live.id);
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
    await exclusively(state, () => load(state, sessionId(own)));
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
  while (state.size > RING_SIZE && state.batches.length > 1) state.size -= state.batches.shift()?.size ?? 0;
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
