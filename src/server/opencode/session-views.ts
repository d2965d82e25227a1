/**
 * All sessions as OpenCode's clients see them: one view per session, shared by all clients, rendered in the order of
 * the log. The latest frames are in a ring; clients hold an index into it and fall back on the log.
 */
import type { OpenCodeEvent, OpenCodeStatus } from "../../dialects/opencode.ts";
import type { OpenCodeOptions } from "../../projections/opencode/index.ts";
import { hasCode } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import { SessionStatus } from "../../protocol/session-enums.ts";
import { type Background, followGroups } from "../../runtime/background.ts";
import type { EventGroup } from "../../runtime/log/contract.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { allSessions } from "../../runtime/session/every-session.ts";
import { openCodeDialect } from "../rendering/dialects.ts";
import type { Dialect } from "../rendering/rendering.ts";
import { openRenderings, type Renderings } from "../rendering/renderings.ts";
import { openRing, type Ring } from "../rendering/ring.ts";
import { openTimeSlices } from "../rendering/time-slices.ts";
import { isDue, openFromCheckpoint, saveCheckpoint } from "./checkpoints.ts";
import {
  announcement,
  dialectsOf,
  type Frame,
  type FrameWriter,
  type Generation,
  openFrameWriter,
  type PlacedEvent,
} from "./frames.ts";
import { nextEvents } from "./next-events.ts";
import { openSessionNames, type SessionNames } from "./session-names.ts";
import {
  openView,
  type RenderedSession,
  renderGroup,
  type SessionView,
  startSession,
  statusOf,
} from "./session-view.ts";

export interface SessionViews {
  /** Resolves when everything before now is known. */
  readonly ready: () => Promise<void>;
  /** The session, root or child, by OpenCode's id; null when there is none. */
  readonly find: (id: string) => Promise<SessionView | null>;
  /** Those in memory. */
  readonly open: () => readonly SessionView[];
  readonly statuses: () => Map<string, OpenCodeStatus>;
  readonly ring: Ring<Frame>;
  /** The position of the latest group that is in the ring. */
  readonly position: () => number;
  /** Sends something that is not in the log, such as that a session was deleted. */
  readonly announce: (json: string, where: { readonly directory: string }) => void;
  /** The session was deleted; one that was recreated with the same id stays. */
  readonly remove: (view: SessionView) => void;
  /** Called with each event after it was rendered. */
  readonly onEvent: (subscriber: (view: SessionView, event: UniversalEvent) => void) => () => void;
  /** Renders a session again from any event on, beside its view. */
  readonly dialects: Readonly<Record<Generation, Dialect<PlacedEvent>>>;
  /** From now on frames have what clients of the newer API are sent, until this is called back. */
  readonly wantNext: () => () => void;
}

const RING_BYTES = 4 * 1024 * 1024;
const IDLE_VIEWS = 100;

interface State {
  readonly sessions: Sessions;
  readonly options: OpenCodeOptions;
  readonly stopped: AbortSignal;
  readonly logger: Logger;
  readonly background: Pick<Background, "start">;
  readonly views: Map<SessionId, SessionView>;
  /** Those that were unloaded while a request still holds them. */
  readonly held: Map<SessionId, WeakRef<SessionView>>;
  /** Those that are being read from the log; others are rendered meanwhile. */
  readonly loading: Map<SessionId, Promise<SessionView>>;
  readonly names: SessionNames;
  readonly subscribers: Set<(view: SessionView, event: UniversalEvent) => void>;
  /** Sessions whose view came from a checkpoint that is ahead of what our clients were sent. */
  readonly behind: Renderings<OpenCodeEvent>;
  readonly ring: Ring<Frame>;
  readonly frames: FrameWriter;
  position: number;
  uses: number;
  /** How many clients of the newer API there are. */
  nextClients: number;
}

export interface SessionViewsOptions extends Pick<State, "sessions" | "options" | "stopped" | "logger" | "background"> {
  readonly ringBytes?: number;
}

export function openSessionViews(options: SessionViewsOptions): SessionViews {
  const state = startState(options);
  // Nobody pays for this surface before its first use.
  let started: Promise<void> | null = null;
  const ready = (): Promise<void> => {
    started ??= start(state).catch((error: unknown) => {
      // The next request tries again.
      started = null;
      throw error;
    });
    return started;
  };
  const find = async (id: string): Promise<SessionView | null> => {
    await ready();
    const session = await state.names.find(id, (recent) => loadUnlessGone(state, recent));
    return session === null ? null : load(state, session);
  };
  return {
    ready,
    find,
    open: () => [...state.views.values()],
    statuses: () => statusesOf(state),
    ring: state.ring,
    position: () => state.position,
    announce: (json, { directory }) => state.ring.push(announcement(json, { position: state.position, directory })),
    remove: (view) => remove(state, view),
    onEvent: (subscriber) => {
      state.subscribers.add(subscriber);
      return () => state.subscribers.delete(subscriber);
    },
    dialects: dialectsOf(state, find),
    wantNext: () => {
      state.nextClients += 1;
      return () => {
        state.nextClients -= 1;
      };
    },
  };
}

function startState({ ringBytes = RING_BYTES, ...options }: SessionViewsOptions): State {
  const dialect = openCodeDialect(options.sessions.projections, options.options);
  return {
    ...options,
    views: new Map(),
    held: new Map(),
    loading: new Map(),
    names: openSessionNames(options.sessions),
    subscribers: new Set(),
    behind: openRenderings({ sessions: options.sessions, dialect }),
    ring: openRing({ bytes: ringBytes }),
    frames: openFrameWriter(),
    position: 0,
    uses: 0,
    nextClients: 0,
  };
}

async function start(state: State): Promise<void> {
  state.position = state.sessions.position();
  for (const status of SessionStatus.options.filter((one) => one !== "idle")) {
    const busy = await allSessions(state.sessions, { status });
    for (const { sessionId: id } of busy) await loadUnlessGone(state, sessionId(id));
  }
  const { sessions, background, stopped: signal } = state;
  const work = followGroups(sessions, { after: state.position, signal }, (group) => takeOrSkip(state, group));
  background.start("opencode", work, signal);
}

/** A bug of ours with one session does not silence the others; it is read again when it is next needed. */
async function takeOrSkip(state: State, group: EventGroup): Promise<void> {
  try {
    await take(state, group);
  } catch (error) {
    if (hasCode(error, "storage_error")) throw error;
    state.logger.error("opencode.session_not_rendered", { session: group.session, error });
    state.views.delete(group.session);
    state.position = group.position;
  }
}

async function take(state: State, group: EventGroup): Promise<void> {
  await state.loading.get(group.session)?.catch(() => undefined);
  const events = group.events();
  const view = beginsHere(state, { group, events })
    ? enter(state, openView(group.session, startSession(state.options)))
    : await loadUnlessGone(state, group.session);
  if (view === null) return;
  const isBehind = view.now.sequence >= group.first;
  const own = renderInto(state, view, { group, events });
  const frame = isBehind ? await catchUpWith(state, { view, group }) : own;
  view.now.unsaved.bytes += group.size;
  state.position = group.position;
  if (frame !== null) state.ring.push(frame);
  for (const event of events) for (const subscriber of state.subscribers) subscriber(view, event);
  if (isDue(view.now.unsaved) && !(await save(state, view.id, view.now))) await replace(state, view);
}

/** A session that is new, or was deleted and recreated with the same id: then its view is of the one before. */
function beginsHere(
  state: State,
  { group, events }: { group: EventGroup; events: readonly UniversalEvent[] },
): boolean {
  if (group.first > 1) return false;
  const known = knownIn(state, group.session);
  if (known === null || known.now.sequence < group.first) return known === null;
  const created = known.now.store.sessions.get(known.openCodeId)?.info?.time?.created;
  return created !== Date.parse(events[0]?.time ?? "");
}

interface RenderedGroup {
  readonly group: EventGroup;
  readonly events: readonly UniversalEvent[];
}

/** Null when clients are sent nothing of it. */
function renderInto(state: State, view: SessionView, { group, events }: RenderedGroup): Frame | null {
  const { frames, nextClients } = state;
  const { render, settle } = renderGroup(view.now);
  frames.begin(group.position);
  for (const event of events) {
    if (event.sequence <= view.now.sequence) continue;
    const out = render(event);
    if (out.length === 0) continue;
    for (const one of out) nameChildren(state, { view, event: one });
    const next = nextClients > 0 ? nextEvents(view.now.state, event, out) : null;
    frames.add({ index: event.sequence - group.first, events: out, next });
  }
  settle();
  return frames.finish(view.now.state);
}

/**
 * The view was restored from a checkpoint of another process that is ahead of our clients: they are sent what lies
 * between from a rendering of their own, until it has caught up with the view.
 */
async function catchUpWith(
  { behind, frames }: State,
  { view, group }: { view: SessionView; group: EventGroup },
): Promise<Frame | null> {
  const rendered = await behind.render(group);
  if (group.last >= view.now.sequence) behind.close(group.session);
  frames.begin(group.position);
  for (const { event, out } of rendered) {
    if (out.length > 0) frames.add({ index: event.sequence - group.first, events: out, next: null });
  }
  return frames.finish(view.now.state);
}

/** A session may be deleted before its last events are rendered. */
async function loadUnlessGone(state: State, id: SessionId): Promise<SessionView | null> {
  try {
    return await load(state, id);
  } catch (error) {
    if (hasCode(error, "session_not_found")) return null;
    throw error;
  }
}

const knownIn = (state: State, id: SessionId): SessionView | null =>
  state.views.get(id) ?? state.held.get(id)?.deref() ?? null;

function enter(state: State, view: SessionView): SessionView {
  state.views.set(view.id, view);
  state.held.delete(view.id);
  for (const name of [view.openCodeId, ...view.now.store.sessions.keys()]) state.names.set(name, view.id);
  touch(state, view);
  if (state.views.size > IDLE_VIEWS) unloadIdle(state);
  return view;
}

async function load(state: State, id: SessionId): Promise<SessionView> {
  const known = knownIn(state, id);
  if (known !== null) return state.views.has(id) ? touch(state, known) : enter(state, known);
  const loading = state.loading.get(id);
  if (loading !== undefined) return loading;
  const begun = restore(state, id).then((now) => openView(id, now));
  state.loading.set(id, begun);
  try {
    const view = await begun;
    // A session that was deleted meanwhile does not stay.
    if (state.loading.get(id) === begun) enter(state, view);
    return view;
  } finally {
    if (state.loading.get(id) === begun) state.loading.delete(id);
  }
}

/**
 * From its checkpoint and the log, up to what clients were sent: what comes after is rendered by `take`, which waits
 * for this when it comes to an event of the session.
 */
async function restore(state: State, id: SessionId): Promise<RenderedSession> {
  const { position } = state;
  const { lastSequence } = await state.sessions.get(id, { limit: 0 });
  const session = await openFromCheckpoint(state.sessions.projections, id, state.options);
  if (lastSequence <= session.sequence) return session;
  const pauseDue = openTimeSlices();
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, state.stopped]);
  for await (const group of state.sessions.follow(id, { after: session.sequence, signal })) {
    if (group.position > position) break;
    const rendering = renderGroup(session);
    for (const event of group.events(session.sequence)) {
      for (const one of rendering.render(event)) nameChildren(state, { view: { id }, event: one });
      const pause = pauseDue();
      if (pause !== null) await pause;
    }
    rendering.settle();
    session.unsaved.bytes += group.size;
    if (isDue(session.unsaved) && !(await save(state, id, session))) return restore(state, id);
    if (group.last >= lastSequence) break;
  }
  done.abort();
  return session;
}

/** False when another process has written a checkpoint. Whatever else goes wrong, the events are in the log. */
async function save(state: State, id: SessionId, session: RenderedSession): Promise<boolean> {
  try {
    return await saveCheckpoint(state.sessions.projections, id, session);
  } catch (error) {
    if (!hasCode(error, "session_not_found")) state.logger.warn("opencode.checkpoint_failed", { session: id, error });
    return true;
  }
}

/** The view continues from the checkpoint that another process has written. */
async function replace(state: State, view: SessionView): Promise<void> {
  try {
    view.now = await restore(state, view.id);
  } catch (error) {
    if (hasCode(error, "session_not_found")) return;
    state.logger.warn("opencode.checkpoint_failed", { session: view.id, error });
  }
}

function remove(state: State, view: SessionView): void {
  const { id } = view;
  if ((knownIn(state, id) ?? view) !== view) return;
  state.views.delete(id);
  state.held.delete(id);
  state.loading.delete(id);
  state.behind.close(id);
  state.names.forget(id);
}

function touch(state: State, view: SessionView): SessionView {
  state.uses += 1;
  view.usedAt = state.uses;
  return view;
}

/** Idle sessions are unloaded when there are many: the log has them, and requests that hold one still see it change. */
function unloadIdle(state: State): void {
  const idle = [...state.views.values()].filter(({ now }) =>
    [...now.store.sessions.values()].every(({ status }) => status.type === "idle"),
  );
  idle.sort((one, other) => one.usedAt - other.usedAt);
  for (const view of idle.slice(0, Math.max(0, idle.length - IDLE_VIEWS))) {
    state.views.delete(view.id);
    state.held.set(view.id, new WeakRef(view));
  }
  for (const [id, view] of state.held) if (view.deref() === undefined) state.held.delete(id);
}

function nameChildren(state: State, { view, event }: { view: Pick<SessionView, "id">; event: OpenCodeEvent }): void {
  if (event.type === "session.created") state.names.set(event.properties.info.id, view.id);
}

function statusesOf(state: State): Map<string, OpenCodeStatus> {
  const statuses = new Map<string, OpenCodeStatus>();
  for (const view of state.views.values()) {
    for (const id of view.now.store.sessions.keys()) {
      const status = statusOf(view, id);
      if (status.type !== "idle") statuses.set(id, status);
    }
  }
  return statuses;
}
