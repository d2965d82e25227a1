/** Routes that read the log: events by offset, live by SSE for one session and for all, and the native lines. */
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import type { Projection } from "../../core/projection.ts";
import { findProjection, projections } from "../../projections/index.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { EventGroup } from "../../runtime/log/contract.ts";
import { lostEvents } from "../../runtime/log/damage.ts";
import { type Call, defineRoute, json, type Route, sent, sessionOf } from "../http/route.ts";
import { type EventStream, frame, streamEvents } from "../http/sse.ts";
import { dialectOf } from "../rendering/dialects.ts";
import { follow, openAt } from "../rendering/rendering.ts";
import { integer, offset } from "./query.ts";
import { includeRaw, writeRaw } from "./raw-events.ts";

const DEFAULT_LIMIT = 1000;
const MAX_LIMIT = 10_000;

const limit = integer({ min: 1, max: MAX_LIMIT })
  .default(DEFAULT_LIMIT)
  .describe("How many at most. `hasMore` says whether more follow.");

const dialects = projections.filter(({ form }) => form === "json").map(({ name }) => name);

const format = z
  .enum(["universal", ...dialects])
  .default("universal")
  .describe("The format of the events. `id:` is the sequence of the universal event in every format.");

const lastEventId = {
  "Last-Event-ID": "The `id:` of the last event seen: the stream continues after it. Wins over `offset`.",
};

const listEvents = defineRoute({
  method: "get",
  path: "/v1/sessions/{id}/events",
  doc: {
    id: "listEvents",
    tag: "Events",
    summary: "Read events",
    description: "Events with `sequence > offset`, oldest first.",
    errors: ["session_not_found"],
    answers: "json",
  },
  query: z.object({ offset: offset.default(0), limit, include_raw: includeRaw }),
  answer: "EventPage",
  handle: async (call) => {
    const { include_raw, ...page } = call.query;
    return json(await call.sessions.events(sessionOf(call), { ...page, includeRaw: include_raw }));
  },
});

const followSession = defineRoute({
  method: "get",
  path: "/v1/sessions/{id}/events/sse",
  doc: {
    id: "followEvents",
    tag: "Events",
    summary: "Follow the events of a session",
    description:
      "History after the offset, then what comes, without a gap and without a repeat. `id:` is the event's sequence. There is no `event:` line. If the offset is beyond the last event, the first frame is an `error` event (code `events_lost`) with the sequence of the last event: read the session again.",
    errors: ["session_not_found"],
    answers: "events",
    requestHeaders: lastEventId,
  },
  query: z.object({ offset: offset.default(0), include_raw: includeRaw, format }),
  handle: async (call) => {
    const session = sessionOf(call);
    const after = sequenceOf(call.incoming) ?? call.query.offset;
    const projection = findProjection(call.query.format);
    if (projection !== undefined && call.query.include_raw) {
      const message = `include_raw is for universal events: those of format ${call.query.format} have no raw field.`;
      throw new ApiError("invalid_request", message);
    }
    // Read before the stream begins, so that an unknown session is a 404 and not a broken stream.
    const lost = await lostBefore(call, { session, seen: after });
    const from = lost?.sequence ?? after;
    await streamEvents(call, async (stream) => {
      if (projection !== undefined) return writeRendered({ call, session, stream, after: from, projection, lost });
      if (lost !== null) await stream.write(frame({ id: String(lost.sequence), data: JSON.stringify(lost) }));
      const groups = call.sessions.follow(session, { signal: stream.signal, after: from });
      const write = call.query.include_raw ? rawWriter({ call, session, stream }) : sharedWriter(stream);
      await writeGroups({ groups, after: from, write });
    });
    return sent;
  },
});

/** What a client is sent that has seen more events than there are; null for every other client. */
async function lostBefore(
  { sessions }: Call<unknown, unknown>,
  { session, seen }: { readonly session: SessionId; readonly seen: number },
): Promise<UniversalEvent | null> {
  const { events } = await sessions.events(session, { offset: Math.max(0, seen - 1), limit: 1, includeRaw: false });
  if (seen === 0 || events.length > 0) return null;
  const { lastSequence: last } = await sessions.get(session, { limit: 0 });
  return last >= seen ? null : lostEvents({ session, seen, last }, new Date().toISOString());
}

const followAll = defineRoute({
  method: "get",
  path: "/v1/events/sse",
  doc: {
    id: "followAllEvents",
    tag: "Events",
    summary: "Follow the events of all sessions",
    description:
      "Without an offset only what comes from now on; `offset=0` begins with all that is stored. `id:` is a cursor of this stream alone, `<position>.<index>`: positions grow over all sessions. The first frame carries only an id: the place where the stream begins.",
    errors: ["events_lost"],
    answers: "events",
    requestHeaders: lastEventId,
  },
  query: z.object({ offset: offset.optional(), include_raw: includeRaw }),
  handle: async (call) => {
    const newest = call.sessions.position();
    const from = positionOf(call.incoming) ?? { after: call.query.offset ?? newest, skip: null };
    if (from.after > newest) {
      const message = `You have seen position ${from.after}, and the last one is ${newest}: the log was damaged, or a backup was restored. Connect again without Last-Event-ID, and read the sessions again.`;
      throw new ApiError("events_lost", message);
    }
    const greeting = `id: ${from.skip === null ? from.after : `${from.skip.position}.${from.skip.index}`}\n\n`;
    await streamEvents({ ...call, greeting }, async (stream) => {
      const groups = call.sessions.followAll({ signal: stream.signal, after: from.after });
      for await (const group of groups) {
        const { session, first, last, position } = group;
        const seen = position === from.skip?.position ? from.skip.index + 1 : 0;
        if (call.query.include_raw) {
          const idOf = ({ sequence }: { readonly sequence: number }): string => `${position}.${sequence - first}`;
          await writeRaw({ call, session, stream, after: first + seen - 1, last, idOf });
          continue;
        }
        const bytes = group.sse("position", { from: first + seen });
        if (bytes.length > 0) await stream.write(bytes);
      }
    });
    return sent;
  },
});

const listNative = defineRoute({
  method: "get",
  path: "/v1/sessions/{id}/native",
  doc: {
    id: "listNative",
    tag: "Events",
    summary: "Read raw agent I/O",
    description:
      "What the agent wrote and what Franca wrote to it, line by line. `cause.line` of an event is a line's number.",
    errors: ["session_not_found"],
    answers: "json",
  },
  query: z.object({ offset: offset.default(0), limit }),
  answer: "NativePage",
  handle: async (call) => json(await call.sessions.native(sessionOf(call), call.query)),
});

interface Translation {
  readonly call: Call<unknown, unknown>;
  readonly session: SessionId;
  readonly stream: EventStream;
  readonly after: number;
  readonly projection: Projection;
  readonly lost: UniversalEvent | null;
}

/** Only what comes after the offset is sent, but what came before counts. */
async function writeRendered({ call, session, stream, after, projection, lost }: Translation): Promise<void> {
  const dialect = dialectOf(projection, call.sessions.projections);
  if (lost !== null) {
    const rendering = await openAt(call.sessions, dialect, { session, sequence: after });
    for (const one of rendering.render(lost)) await stream.write(`data: ${JSON.stringify(one)}\n\n`);
  }
  for await (const group of follow(call.sessions, dialect, { session, after, signal: stream.signal })) {
    let text = "";
    for (const { event, out } of group) {
      const rendered = out.map((one) => JSON.stringify(one));
      // The id is on the last frame of an event: a client that resumes after it has all of them.
      for (const data of rendered.slice(0, -1)) text += `data: ${data}\n\n`;
      for (const data of rendered.slice(-1)) text += frame({ id: String(event.sequence), data });
    }
    if (text !== "") await stream.write(text);
  }
}

type GroupWriter = (group: EventGroup, from: number) => Promise<void> | undefined;

interface GroupStream {
  readonly groups: AsyncIterable<EventGroup>;
  readonly after: number;
  readonly write: GroupWriter;
}

/** Only the first group can begin before the cursor. */
async function writeGroups({ groups, after, write }: GroupStream): Promise<void> {
  for await (const group of groups) {
    const writing = write(group, Math.max(group.first, after + 1));
    if (writing !== undefined) await writing;
  }
}

const sharedWriter =
  (stream: EventStream): GroupWriter =>
  (group, from) =>
    stream.write(group.sse("sequence", { from }));

const rawWriter =
  (options: { call: Call<unknown, unknown>; session: SessionId; stream: EventStream }): GroupWriter =>
  (group, from) =>
    writeRaw({ ...options, after: from - 1, last: group.last, idOf: ({ sequence }) => String(sequence) });

function sequenceOf(incoming: IncomingMessage): number | null {
  const id = headerOf(incoming);
  if (id === null) return null;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new ApiError("invalid_request", `Last-Event-ID ${JSON.stringify(id)} is not a sequence of this stream.`);
}

interface PlaceInAll {
  /** Groups after this position are wanted. */
  readonly after: number;
  /** Events of this group up to this index have been seen. */
  readonly skip: { readonly position: number; readonly index: number } | null;
}

function positionOf(incoming: IncomingMessage): PlaceInAll | null {
  const id = headerOf(incoming);
  if (id === null) return null;
  const [, position, index] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(id) ?? [];
  if (position === undefined) {
    throw new ApiError("invalid_request", `Last-Event-ID ${JSON.stringify(id)} is not a cursor of this stream.`);
  }
  if (index === undefined) return { after: Number(position), skip: null };
  return { after: Number(position) - 1, skip: { position: Number(position), index: Number(index) } };
}

function headerOf({ headers }: IncomingMessage): string | null {
  const value = headers["last-event-id"];
  const id = Array.isArray(value) ? value[0] : value;
  return id === undefined || id === "" ? null : id;
}

export const eventRoutes: readonly Route[] = [listEvents, followSession, followAll, listNative];
