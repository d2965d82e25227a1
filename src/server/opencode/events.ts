/** `/event`, `/global/event`, `/api/event`: server-sent events, resumable by id; new clients get pending requests. */
import { projectId } from "../../projections/opencode/index.ts";
import { hasCode } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import type { Caller } from "../credentials/access.ts";
import { holdsFolder } from "../credentials/credential.ts";
import { type EventStream, streamEvents } from "../http/sse.ts";
import { openAt } from "../rendering/rendering.ts";
import { openRenderings } from "../rendering/renderings.ts";
import { openTimeSlices } from "../rendering/time-slices.ts";
import { announcedNext, type Frame, type Generation, type PlacedEvent } from "./frames.ts";
import { nextPermission } from "./next-events.ts";
import { freshId, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import type { SessionViews } from "./session-views.ts";

const HEARTBEAT_MS = 10_000;
/** How many events are read at a time. */
const PAGE = 500;

/** How an event is written: alone, or with its directory around it. */
type Form = (json: string, where: { readonly directory: string; readonly project: string }) => string;

export const alone: Form = (json) => json;
/** As the newer API has it, whose events know their directory. */
const nextForm: Form = (json) => json;
const wrapped: Form = (json, { directory, project }) =>
  `{"directory":${JSON.stringify(directory)},"project":${JSON.stringify(project)},"payload":${json}}`;

export const eventRoutes: readonly OpenCodeRoute[] = [
  {
    method: "GET",
    path: "/event",
    action: "read",
    handle: (call) => call.streams.serve(call, { form: alone, directory: call.directory }),
  },
  {
    method: "GET",
    path: "/global/event",
    action: "read",
    handle: (call) => call.streams.serve(call, { form: wrapped, directory: null }),
  },
  {
    method: "GET",
    path: "/api/event",
    action: "read",
    partial: "Every conversation as `session.next.…`, also one that is driven by the older API.",
    handle: (call) => call.streams.serve(call, { form: nextForm, directory: null, generation: "next" }),
  },
];

/** What a stream needs of a call. */
type StreamCall = Pick<OpenCodeCall, "sessions" | "views" | "caller" | "incoming" | "outgoing" | "stopped">;

export interface EventStreams {
  readonly serve: (call: StreamCall, scope: Scope) => Promise<OpenCodeAnswer>;
  /** Resolves when everything so far has left for every client; a client that does not read is not waited for long. */
  readonly flushed: () => Promise<void>;
}

interface Scope {
  readonly form: Form;
  /** Only events of this directory; null for all. */
  readonly directory: string | null;
  /** The older API's events where nothing else is said. */
  readonly generation?: Generation;
}

/** What one client is sent. */
interface Wanted extends Required<Scope> {
  /** Whether the client's credential gives access to a directory. */
  readonly holds: (directory: string) => boolean;
  /** With ids, by which it can go on where it was. */
  readonly ids: boolean;
}

/**
 * OpenCode sends no ids, and an editor's client takes every line of an event for a piece of its JSON. It asks for JSON
 * and a stream at once, which clients that read streams by the book do not.
 */
const readsIds = ({ incoming }: StreamCall): boolean => !(incoming.headers.accept ?? "").includes("application/json");

interface Client {
  /** The next frame to send. */
  index: number;
  readonly stream: EventStream;
}

/** A client that does not read holds nobody up for longer. */
const FLUSH_MS = 1_000;

interface EventStreamsOptions {
  readonly views: SessionViews;
  readonly heartbeatMs?: number;
}

export function openEventStreams({ views, heartbeatMs = HEARTBEAT_MS }: EventStreamsOptions): EventStreams {
  const clients = new Set<Client>();
  const waiting = new Set<() => void>();
  const progress = (): void => {
    for (const wake of waiting) wake();
    waiting.clear();
  };
  return {
    async serve(call, { form, directory, generation = "first" }) {
      const scope: Wanted = { form, directory, generation, ids: readsIds(call), holds: heldBy(call.caller) };
      await views.ready();
      const release = generation === "next" ? views.wantNext() : () => undefined;
      try {
        const index = views.ring.next();
        const greeting = [
          frameOf("", inForm(created("server.connected", {}), scope), scope),
          ...lost(views, { call, scope }),
          ...(await interrupted(views, { call, scope })),
          ...pending({ call, scope }),
        ].join("");
        const beat = { heartbeat: (): string => frameOf("", created("server.heartbeat", {}), scope) };
        const options = { ...call, heartbeatMs, greeting, ...(generation === "next" ? {} : beat) };
        await streamEvents(options, async (stream) => {
          const client: Client = { index, stream };
          clients.add(client);
          try {
            await send({ call, scope, client, views, onSent: progress });
          } finally {
            clients.delete(client);
            progress();
          }
        });
      } finally {
        release();
      }
      return "sent";
    },
    async flushed() {
      const until = views.ring.next();
      const deadline = timeoutSignal({ ms: FLUSH_MS });
      deadline.addEventListener("abort", progress);
      while (!deadline.aborted && [...clients].some(({ index }) => index < until)) {
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
      await Promise.all([...clients].map(({ stream }) => stream.flushed(deadline)));
    },
  };
}

/** Sends an error to a client that has seen lost events. It then gets new events only. */
function lost(views: SessionViews, { call, scope }: { call: StreamCall; scope: Wanted }): string[] {
  const seen = Number(lastEventId(call)?.split(".")[0] ?? 0);
  if (seen <= views.position() + 1) return [];
  const message =
    "You have seen events that are not in the log: it was damaged, or a backup was restored. Load the sessions again.";
  const event = created("session.error", { error: { name: "UnknownError", data: { message } } });
  return [frameOf("", inForm(event, scope), scope)];
}

/** Caches the results, because a stream checks every frame. */
function heldBy(caller: Caller): (directory: string) => boolean {
  const known = new Map<string, boolean>();
  return (directory) => {
    if (caller.type === "owner") return true;
    const isHeld = known.get(directory) ?? holdsFolder(caller.credential, directory);
    known.set(directory, isHeld);
    return isHeld;
  };
}

/** A client that comes late is sent what waits for an answer; native OpenCode leaves it in the dark. */
function pending({ call, scope }: { call: StreamCall; scope: Wanted }): string[] {
  if (lastEventId(call) !== null) return [];
  return call.views
    .open()
    .filter(({ now }) => scope.directory === null || now.state.directory === scope.directory)
    .flatMap(({ now: { store, state } }) => {
      const where = { directory: state.directory, project: projectId(state.directory) };
      const permissions = [...store.permissions.values()];
      const questions = [...store.questions.values()];
      const waiting = new Set([...permissions, ...questions].map(({ sessionID }) => sessionID));
      // A request of a subagent is only shown by a TUI that knows its session.
      const infos = [...waiting].flatMap((id) => store.sessions.get(id)?.info ?? []);
      const requests = [
        ...infos.map((info) => created("session.updated", { sessionID: info.id, info })),
        ...(scope.generation === "next"
          ? [
              ...permissions.map((request) => created("permission.v2.asked", nextPermission(request))),
              ...questions.map((request) => created("question.v2.asked", request)),
            ]
          : [
              ...permissions.map((request) => created("permission.asked", request)),
              ...questions.map((request) => created("question.asked", request)),
            ]),
      ];
      return requests.map((event) =>
        frameOf("", inForm(event, scope, state.directory), { form: (json) => scope.form(json, where) }),
      );
    });
}

/**
 * OpenCode's TUI comes back after a restart without saying what it heard last, and would show a turn that was cut off
 * as running for ever: how it ended is sent again, as long as nothing else has happened in the session. Not to clients
 * of one directory: they wait for the idle of a prompt that they are about to send.
 */
async function interrupted(
  views: SessionViews,
  { call, scope }: { call: StreamCall; scope: Wanted },
): Promise<string[]> {
  if (scope.directory !== null || lastEventId(call) !== null) return [];
  const frames: string[] = [];
  for (const [session, offset] of call.sessions.recovered) {
    const events = await eventsSince(call, { session, offset });
    if (events.length === 0 || events.some(({ type }) => type === "turn.started")) continue;
    const dialect = views.dialects[scope.generation];
    const rendering = await openAt(call.sessions, dialect, { session, sequence: offset });
    const rendered = events.flatMap((event) => rendering.render(event));
    frames.push(...rendered.map((one) => frameOf("", JSON.stringify(one.event), { form: placed(scope.form, one) })));
  }
  return frames;
}

const placed =
  (form: Form, { directory }: Pick<PlacedEvent, "directory">): Form =>
  (json) =>
    form(json, { directory, project: projectId(directory) });

/** None of a session that was deleted since. */
async function eventsSince(
  { sessions }: StreamCall,
  { session, offset }: { session: SessionId; offset: number },
): Promise<readonly UniversalEvent[]> {
  try {
    return (await sessions.events(session, { offset, limit: PAGE, includeRaw: false })).events;
  } catch (error) {
    if (hasCode(error, "session_not_found")) return [];
    throw error;
  }
}

/** An event that is not in the log has an id from the clock. */
export const created = (type: string, properties: object): string =>
  JSON.stringify({ id: freshId("evt"), type, properties });

/** Made here, in the older form, as this client reads it. */
const inForm = (json: string, { generation }: Wanted, directory: string | null = null): string =>
  generation === "next" ? announcedNext(json, directory) : json;

const NOWHERE = { directory: "global", project: "global" };

function frameOf(at: string, json: string, { form }: Pick<Scope, "form">): string {
  const id = at === "" ? "" : `id: ${at}\n`;
  return `${id}data: ${form(json, NOWHERE)}\n\n`;
}

interface Sending {
  readonly call: StreamCall;
  readonly scope: Wanted;
  readonly client: Client;
  readonly views: SessionViews;
  readonly onSent: () => void;
}

/** Until the client leaves: from the ring where it has what comes next, else from the log. */
async function send(sending: Sending): Promise<void> {
  const { call, scope, client, views } = sending;
  const { stream } = client;
  const { ring } = views;
  const from = lastEventId(call);
  let last = from === null ? allOf(views.position()) : await catchUp(sending, from);
  while (!stream.signal.aborted) {
    if (client.index < ring.first()) {
      last = await catchUp(sending, last);
      continue;
    }
    const frame = ring.get(client.index);
    if (frame === undefined) {
      await ring.arrival(client.index, stream.signal);
      continue;
    }
    if (frame.sse[scope.generation] === null) {
      // Rendered before this client came.
      last = await catchUp(sending, last);
      continue;
    }
    const bytes = bytesOf(frame, scope);
    if (bytes.length > 0) await stream.write(bytes);
    client.index += 1;
    last = frame.last[scope.generation] ?? last;
    sending.onSent();
  }
}

type Encoded = WeakMap<Frame, Map<Form, Buffer>>;
const encodedWith: { readonly ids: Encoded; readonly none: Encoded } = { ids: new WeakMap(), none: new WeakMap() };
const nothing = Buffer.alloc(0);
const DATA = "data: ";

/** The frame in the form this client reads, encoded once for all clients of that form; most take it unchanged. */
function bytesOf(frame: Frame, { form, directory, ids, generation, holds }: Wanted): Buffer {
  const bytes = frame.sse[generation] ?? nothing;
  if (!holds(frame.directory) || (directory !== null && frame.directory !== directory)) return nothing;
  if (ids && form !== wrapped) return bytes;
  const encoded = ids ? encodedWith.ids : encodedWith.none;
  const known = encoded.get(frame)?.get(form);
  if (known !== undefined) return known;
  let text = "";
  for (const line of bytes.toString("utf8").split("\n")) {
    if (line.startsWith(DATA)) text += `${DATA}${form(line.slice(DATA.length), frame)}\n\n`;
    else if (ids && line !== "") text += `${line}\n`;
  }
  const made = Buffer.from(text);
  const forms = encoded.get(frame) ?? new Map<Form, Buffer>();
  forms.set(form, made);
  encoded.set(frame, forms);
  return made;
}

function lastEventId({ incoming }: StreamCall): string | null {
  const header = incoming.headers["last-event-id"];
  return typeof header === "string" && /^\d+\.-?\d+\.\d+$/.test(header) ? header : null;
}

/** The place of a client that has heard all groups up to a position. */
const allOf = (position: number): string => `${position + 1}.-1.0`;

/** Sends from the log what came after a place, up to where the ring begins for the client; gives its place then. */
async function catchUp({ scope, client, views, call }: Sending, from: string): Promise<string> {
  const [position = 0, index = -1, count = 0] = from.split(".").map(Number);
  const target = views.position();
  const next = views.ring.next();
  const isKnown = (place: number, nth: number): boolean => place < index || (place === index && nth <= count);
  const renderings = openRenderings({ sessions: call.sessions, dialect: views.dialects[scope.generation] });
  const pauseDue = openTimeSlices();
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, client.stream.signal]);
  const groups = position > target ? [] : call.sessions.followAll({ after: Math.max(0, position - 1), signal });
  for await (const group of groups) {
    if (group.position > target) break;
    let text = "";
    for (const { event, out } of await renderings.render(group)) {
      const place = event.sequence - group.first;
      for (const [nth, one] of out.entries()) {
        if (scope.directory !== null && scope.directory !== one.directory) continue;
        if (group.position === position && isKnown(place, nth)) continue;
        const at = `${group.position}.${place}.${nth}`;
        text += frameOf(scope.ids ? at : "", JSON.stringify(one.event), { form: placed(scope.form, one) });
      }
    }
    if (text !== "") await client.stream.write(text);
    await pauseDue();
    if (group.position >= target) break;
  }
  done.abort();
  client.index = next;
  return allOf(target);
}
