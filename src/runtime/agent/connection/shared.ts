/** One connection for several sessions: lines go to the session whose thread they speak of. */
import type { Adapter } from "../../../core/adapter.ts";
import type { Send } from "../../../core/agent-io.ts";
import type { Launch } from "../../../core/launch.ts";
import { cutLine, type LineTemplate, matchLine } from "../../../core/line-template.ts";
import { own, type Routed, type RouteState, routeLine, sent, startRoutes } from "../../../core/route.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import type { Logger } from "../../logger.ts";
import type { Rung } from "../process-tree.ts";
import type { Connection, Heard, Receiver } from "./contract.ts";
import { parseLine } from "./parse-line.ts";

/** A session that joins waits until the one that opened the connection has shaken hands, or for this long. */
const HANDSHAKE_MS = 5_000;
/** Owner of threads whose session has left: what they still say is for nobody. */
const NOBODY = "";

interface Member {
  readonly receiver: Receiver;
  readonly onLine: ((line: unknown) => void) | undefined;
  behind: boolean;
}

interface Shared {
  readonly adapter: Adapter;
  readonly logger: Logger;
  readonly routes: RouteState;
  readonly members: Map<SessionId, Member>;
  readonly connection: Promise<Connection>;
  /** The agent has spoken: the session that opened the connection has its answer. */
  readonly spoken: { readonly promise: Promise<void>; readonly resolve: () => void };
  /** What the last line was like, and whose it was; null when sessions or their threads have changed since. */
  last: { readonly template: LineTemplate; readonly member: Member } | null;
}

export interface Joining {
  readonly session: SessionId;
  readonly adapter: Adapter;
  /** Sessions that name the same one share it. */
  readonly key: string;
  readonly receiver: Receiver;
  /** Hears every line, also those that concern no session. */
  readonly onLine?: (line: unknown) => void;
  /** The thread it goes on with, where that is known. */
  readonly thread: string | null;
  readonly open: (receiver: Receiver) => Promise<Connection>;
  readonly logger: Logger;
}

export interface Joined {
  readonly connection: SharedConnection;
  readonly first: boolean;
}

export interface SharedConnection extends Connection {
  /** The session learnt which thread is its own. */
  readonly own: (thread: string) => void;
  /** Leaves; the connection is ended when nobody is left. */
  readonly leave: (ladder?: readonly Rung[]) => Promise<void>;
}

export interface Pool {
  readonly join: (joining: Joining) => Promise<Joined>;
}

export interface Sharing {
  readonly agent: string;
  readonly launch: Launch;
  /** The session's own environment. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Sessions with the same key share one process; null: the session has its own. Keys and settings are in the
 * environment, so only sessions with the same environment share, whatever name the adapter gave.
 */
export function sharingKey({ agent, launch, env }: Sharing): string | null {
  if (launch.kind !== "process" && launch.kind !== "http") return null;
  const { shared, command, args } = launch;
  if (shared === undefined) return null;
  return JSON.stringify([agent, shared, command, args, sorted(launch.env ?? {}), sorted(env)]);
}

const sorted = (env: Readonly<Record<string, string>>) => Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));

export function openPool(): Pool {
  const pool = new Map<string, Shared>();
  return {
    async join(joining) {
      const known = pool.get(joining.key);
      const shared = known ?? openShared(pool, joining);
      const { session, receiver, thread, onLine } = joining;
      shared.members.set(session, { receiver, onLine, behind: false });
      shared.last = null;
      try {
        const connection = await shared.connection;
        if (thread !== null) own(shared.routes, { thread, session });
        shared.last = null;
        if (known !== undefined) await handshake(shared);
        return { connection: memberOf(shared, { session, connection }), first: known === undefined };
      } catch (error) {
        shared.members.delete(session);
        throw error;
      }
    },
  };
}

function openShared(pool: Map<string, Shared>, { key, adapter, logger, open }: Joining): Shared {
  const receiver: Receiver = {
    receive(heard) {
      if (heard.type === "disconnected") pool.delete(key);
      return deliver(shared, heard);
    },
  };
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  const connection = open(receiver);
  const shared: Shared = {
    adapter,
    logger,
    routes: startRoutes(),
    members: new Map(),
    connection,
    spoken: { promise, resolve },
    last: null,
  };
  pool.set(key, shared);
  connection.catch(() => pool.delete(key));
  return shared;
}

async function handshake({ spoken }: Shared): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, HANDSHAKE_MS);
  });
  await Promise.race([spoken.promise, patience]);
  clearTimeout(timer);
}

function deliver(shared: Shared, heard: Heard): boolean {
  shared.spoken.resolve();
  if (heard.type === "text") deliverText(shared, heard.text);
  else deliverOne(shared, heard);
  return !isBehind(shared);
}

/** Returns the session that a line is for, when it is for one alone. */
function deliverOne(shared: Shared, heard: Exclude<Heard, { type: "text" }>): SessionId | null {
  const { route } = shared.adapter;
  shared.last = null;
  if (heard.type === "line") for (const { onLine } of shared.members.values()) onLine?.(heard.value);
  if (heard.type !== "line" || route === null) {
    deliverToAll(shared, heard);
    return null;
  }
  // A thread nobody has claimed yet waits: the answer that names its session's thread may be one line behind.
  const { root: _root, ...place } = route(heard.value);
  const routed = routeLine(shared.routes, { route: place, line: heard });
  for (const one of routed) give(shared, one);
  const [first, second] = routed;
  return first?.type === "deliver" && second === undefined ? sessionOf(shared, first.session) : null;
}

const sessionOf = ({ members }: Shared, name: string | null): SessionId | null =>
  [...members.keys()].find((session) => session === name) ?? null;

/** Lines like the one before (`DeltaLines`) are for the same session: they are passed on without being parsed. */
function deliverText(shared: Shared, text: string): void {
  if (text === "") return;
  const keys = [...shared.members.values()].some(({ onLine }) => onLine !== undefined) ? [] : shared.adapter.deltaKeys;
  const span = { source: text, start: 0, end: 0 };
  const cuts: number[] = [];
  let start = 0;
  let alike = 0;
  const passOn = (end: number): void => {
    const { last } = shared;
    if (last !== null && end > alike) deliverTo(last.member, { type: "text", text: text.slice(alike, end - 1) });
  };
  for (let end = 0; end < text.length; start = end + 1) {
    const newline = text.indexOf("\n", start);
    end = newline < 0 ? text.length : newline;
    span.start = start;
    span.end = end;
    if (shared.last !== null && matchLine(shared.last.template, span, cuts) !== null) continue;
    passOn(start);
    alike = end + 1;
    shared.last = null;
    const line = text.slice(start, end);
    if (line.trim() === "") continue;
    const session = deliverOne(shared, parseLine(line));
    const member = session === null ? undefined : shared.members.get(session);
    const template = templateOf(keys, line);
    if (member !== undefined && template !== null) shared.last = { template, member };
  }
  passOn(text.length + 1);
}

function templateOf(alternatives: Adapter["deltaKeys"], line: string): LineTemplate | null {
  for (const keys of alternatives) {
    const template = cutLine(line, keys);
    if (template !== null) return template;
  }
  return null;
}

function give(shared: Shared, routed: Routed): void {
  if (routed.type === "root") {
    shared.logger.warn("connection.thread_dropped", { agent: shared.adapter.agent, thread: routed.session });
    return;
  }
  const { line } = routed;
  if (!isHeard(line)) return;
  if (routed.session === null) {
    deliverToAll(shared, line);
    return;
  }
  for (const [session, member] of shared.members) if (session === routed.session) deliverTo(member, line);
}

/** What the router carries is what we gave it. */
const isHeard = (line: unknown): line is Heard => typeof line === "object" && line !== null && "type" in line;

function deliverToAll(shared: Shared, heard: Heard): boolean {
  for (const member of [...shared.members.values()]) deliverTo(member, heard);
  return !isBehind(shared);
}

function deliverTo(member: Member, heard: Heard): void {
  if (!member.receiver.receive(heard)) member.behind = true;
}

const isBehind = (shared: Shared): boolean => [...shared.members.values()].some(({ behind }) => behind);

function memberOf(
  shared: Shared,
  { session, connection }: { session: SessionId; connection: Connection },
): SharedConnection {
  const member = shared.members.get(session);
  const resume = (): void => {
    if (member !== undefined) member.behind = false;
    if (!isBehind(shared)) connection.resume();
  };
  return {
    perform(send) {
      note(shared, { session, send });
      connection.perform(send, member?.receiver);
    },
    resume,
    stop: connection.stop,
    ...(connection.address === undefined ? {} : { address: connection.address }),
    own(thread) {
      shared.last = null;
      for (const routed of own(shared.routes, { thread, session })) give(shared, routed);
    },
    async leave(ladder) {
      shared.members.delete(session);
      shared.last = null;
      const { owners, requests } = shared.routes;
      for (const [thread, owner] of owners) if (owner === session) owners.set(thread, NOBODY);
      for (const [request, owner] of requests) if (owner === session) requests.delete(request);
      if (shared.members.size === 0) await connection.stop(ladder);
      else resume();
    },
  };
}

/** Remembers who asked, so that the answer finds its way. */
function note(shared: Shared, { session, send }: { session: SessionId; send: Send }): void {
  if (send.type !== "send.line" || shared.adapter.route === null) return;
  const { request } = shared.adapter.route(send.line);
  if (request !== undefined) sent(shared.routes, { request, session });
}
