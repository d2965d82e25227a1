/** A recorded stream through the same folds as a live session: lines in, universal events out, nothing made up. */
import type { UniversalEvent } from "../protocol/events.ts";
import { type SessionId, sessionId } from "../protocol/ids.ts";
import type { Adapter } from "./adapter.ts";
import type { Exit } from "./agent-io.ts";
import type { SessionInput, SessionOutput } from "./input.ts";
import type { Recorded } from "./recorded.ts";
import { recordedPolicy, stepWithTicks, withRaw } from "./replay.ts";
import { type Routed, type RouteState, releaseAll, routeLine, sent, startRoutes } from "./route.ts";
import { openSession, type Session } from "./session.ts";
import { isTime } from "./time-text.ts";

export type { Recorded } from "./recorded.ts";

/** The lines that were not understood. */
export interface Misread {
  readonly count: number;
  /** The first few. */
  readonly first: readonly { readonly place: number; readonly error: string }[];
}

export interface ConvertOptions {
  readonly adapter: Adapter;
  /** Events carry the native line that caused them. */
  readonly includeRaw?: boolean;
}

export interface Converter {
  readonly step: (recorded: Recorded) => readonly UniversalEvent[];
  /** The input is over: what is still open ends, with evidence `exit`. */
  readonly end: () => readonly UniversalEvent[];
  readonly misread: () => Misread;
}

/** The name of a session whose agent never reported its id. */
const UNNAMED = "convert";

/** As the protocol has it. */
const MAX_NAME = 256;

/** Lines that may come before the one that has the session's id. */
const UNNAMED_LINES = 500;

/** Requests of ours that may wait for their answers. */
const ASKED_LINES = 1000;

const SHOWN_MISREAD = 5;

type Input = Exclude<Recorded, { type: "exit" }>;
type Line = Exclude<Input, { type: "inspected" }>;
type Timed<Entry> = Entry & { readonly at: number };

interface Member {
  readonly session: Session;
  /** What the host said, by line: an agent may take it up much later. Kept only where raw lines are asked for. */
  readonly hostLines: Map<number, unknown>;
  /** Its agent has gone, and nothing was heard since. */
  gone: boolean;
}

interface State {
  readonly adapter: Adapter;
  readonly includeRaw: boolean;
  readonly routes: RouteState;
  readonly sessions: Map<string, Member>;
  /** Where the last line went: lines that name no session go there too. */
  latest: string | null;
  /** Lines about the connection, before there is a session. */
  early: Timed<Input>[];
  /** Our requests that name no thread: they go to the session that gets the answer. */
  readonly asked: Map<string, Timed<Input>>;
  at: number;
  /** The first recorded time. Lines before it have none, and nothing is due from the years in between. */
  clockFrom: number | null;
  events: UniversalEvent[];
  misread: { count: number; readonly first: { readonly place: number; readonly error: string }[]; latest: number };
}

export function openConverter({ adapter, includeRaw = false }: ConvertOptions): Converter {
  const state: State = {
    adapter,
    includeRaw,
    routes: startRoutes(),
    sessions: new Map(),
    latest: null,
    early: [],
    asked: new Map(),
    at: 0,
    clockFrom: null,
    events: [],
    misread: { count: 0, first: [], latest: 0 },
  };
  const name = adapter.route === null ? nameFinder(adapter) : null;
  return {
    step: (recorded) => collect(state, () => take(state, recorded, name)),
    end: () => collect(state, () => finish(state)),
    misread: () => state.misread,
  };
}

/** All events of a recording. */
export function convertLines(
  adapter: Adapter,
  recording: Iterable<Recorded>,
  options: { readonly includeRaw?: boolean } = {},
): UniversalEvent[] {
  const converter = openConverter({ adapter, ...options });
  const events: UniversalEvent[] = [];
  for (const recorded of recording) events.push(...converter.step(recorded));
  events.push(...converter.end());
  return events;
}

function collect(state: State, work: () => void): readonly UniversalEvent[] {
  work();
  const { events } = state;
  state.events = [];
  return events;
}

type NameFinder = (line: Line) => string | null;

function take(state: State, recorded: Recorded, name: NameFinder | null): void {
  // Where a recording goes back in time, or has none, the clock stands still.
  if (isTime(recorded.at)) {
    state.at = Math.max(state.at, recorded.at);
    state.clockFrom ??= recorded.at;
  }
  const { at } = state;
  if (recorded.type === "exit") return disconnect(state, { ...recorded, at });
  // Keys of requests are unique, so every other session ignores it.
  if (recorded.type === "inspected") return deliver(state, { session: null, input: { ...recorded, at } });
  const input: Timed<Line> = { ...recorded, at };
  if (name !== null) takeUnrouted(state, input, name);
  else if (input.type === "unreadable") deliver(state, { session: state.latest, input });
  else takeRouted(state, input);
}

/** One session: its first lines wait until one of them has its id. */
function takeUnrouted(state: State, input: Timed<Line>, name: NameFinder): void {
  const found = state.latest === null ? name(input) : null;
  if (found !== null) open(state, found);
  deliver(state, { session: state.latest, input });
}

function nameFinder(adapter: Adapter): NameFinder {
  const scout = adapter.open();
  return (input) => {
    if (input.type !== "line") return null;
    for (const report of scout.step({ type: "line", from: input.from, line: input.line, at: 0 })) {
      if (report.type === "session" && report.native_session_id !== undefined) return report.native_session_id;
    }
    return null;
  };
}

function takeRouted(state: State, input: Timed<Extract<Input, { type: "line" }>>): void {
  const { routes, adapter, asked } = state;
  const route = adapter.route?.(input.line) ?? { thread: null };
  const { request, thread } = route;
  if (input.from === "host") {
    if (route.answer === true) return follow(state, routeLine(routes, { route: { thread }, line: input }));
    if (request !== undefined && thread === null && asked.size < ASKED_LINES) return void asked.set(request, input);
    const owner = thread === null ? undefined : routes.owners.get(thread);
    if (request !== undefined && owner !== undefined) sent(routes, { request, session: owner });
    const { request: _, ...unasked } = route;
    return follow(state, routeLine(routes, { route: unasked, line: input }));
  }
  const question = request === undefined ? undefined : asked.get(request);
  if (request !== undefined) asked.delete(request);
  for (const routed of routeLine(routes, { route, line: input })) {
    // The request is delivered right before its answer, which shows whose it was.
    if (question !== undefined && routed.type === "deliver" && routed.line === input) {
      follow(state, [{ ...routed, line: question }]);
    }
    follow(state, [routed]);
  }
}

function follow(state: State, routed: readonly Routed[]): void {
  for (const one of routed) {
    if (one.type === "root") open(state, one.session);
    else if (isInput(one.line)) deliver(state, { session: one.session, input: one.line });
  }
}

// What the router holds for us is what we gave it.
const isInput = (value: unknown): value is Timed<Input> => typeof value === "object" && value !== null && "at" in value;

function open(state: State, id: string): void {
  if (state.sessions.has(id)) return;
  const session = openSession({
    sessionId: nameFor(state, id),
    adapter: state.adapter,
    policy: recordedPolicy,
    connected: true,
  });
  const member: Member = { session, hostLines: new Map(), gone: false };
  state.sessions.set(id, member);
  state.latest = id;
  const { early } = state;
  state.early = [];
  for (const input of early) hear(state, member, input);
}

/** An agent's id may be no name for a session of ours: empty, or without end. */
function nameFor({ sessions }: State, id: string): SessionId {
  const isName = id !== "" && id.length <= MAX_NAME;
  return sessionId(isName ? id : sessions.size === 0 ? UNNAMED : `${UNNAMED}-${sessions.size + 1}`);
}

/** Session null: it concerns all of them, or the first one to come. */
function deliver(state: State, { session, input }: { session: string | null; input: Timed<Input> }): void {
  if (state.sessions.size === 0 && state.early.length >= UNNAMED_LINES) open(state, UNNAMED);
  if (state.sessions.size === 0) return void state.early.push(input);
  const target = session === null ? undefined : state.sessions.get(session);
  if (target === undefined) {
    for (const each of state.sessions.values()) hear(state, each, input);
    return;
  }
  state.latest = session;
  hear(state, target, input);
}

function hear(state: State, member: Member, input: Timed<Input>): void {
  const before = state.events.length;
  feed(state, member, inputOf(input));
  for (const event of state.events.slice(before)) {
    if (event.type === "agent.unparsed") noteMisread(state, { place: input.place ?? 0, error: event.data.error });
  }
}

/** A line that concerns several sessions counts once. */
function noteMisread({ misread }: State, one: { readonly place: number; readonly error: string }): void {
  if (one.place !== 0 && one.place === misread.latest) return;
  misread.latest = one.place;
  misread.count += 1;
  if (misread.first.length < SHOWN_MISREAD) misread.first.push(one);
}

/** An HTTP answer is heard as one, like in a live session. */
function inputOf(input: Timed<Input>): SessionInput {
  if (input.type !== "line" || input.from !== "agent") return input;
  const response = responseOf(input.line);
  return response === null ? input : { type: "response", ...response, at: input.at };
}

function responseOf(line: unknown): { readonly id: string; readonly status: number; readonly body: unknown } | null {
  if (typeof line !== "object" || line === null || !("response" in line) || Object.keys(line).length !== 1) return null;
  const { response } = line;
  if (typeof response !== "object" || response === null || !("id" in response) || !("status" in response)) return null;
  if (typeof response.id !== "string" || typeof response.status !== "number") return null;
  return { id: response.id, status: response.status, body: "body" in response ? response.body : null };
}

function feed(state: State, member: Member, input: SessionInput): void {
  // What would have been due before this line came is stepped too.
  for (const output of stepWithTicks(member.session, input, state.clockFrom)) gather(state, member, output);
  member.gone = input.type === "disconnected";
}

function gather(state: State, { hostLines }: Member, output: SessionOutput): void {
  state.events.push(...(state.includeRaw ? withRaw(output, hostLines) : output.events));
}

function disconnect(state: State, { exit, at }: { readonly exit: Exit; readonly at: number }): void {
  if (state.sessions.size === 0 && state.early.length > 0) open(state, UNNAMED);
  for (const member of state.sessions.values()) {
    if (!member.gone) feed(state, member, { type: "disconnected", exit, at });
  }
}

function finish(state: State): void {
  follow(state, releaseAll(state.routes));
  for (const input of state.asked.values()) deliver(state, { session: null, input });
  disconnect(state, { exit: { code: null, signal: null }, at: state.at });
}
