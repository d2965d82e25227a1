/** A session's own events in OpenCode's newer API: a page of them, or all from a place on and then what comes. */
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { describeLost } from "../../runtime/log/damage.ts";
import { streamEvents } from "../http/sse.ts";
import { follow, openAt } from "../rendering/rendering.ts";
import type { PlacedEvent } from "./frames.ts";
import { type NextEvent, sequenceOf } from "./next-events.ts";
import { json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import { viewOf } from "./sessions.ts";

const PAGE = 50;
const LONGEST = 100;
/** How many universal events are read at a time. */
const READ = 500;
const HEARTBEAT_MS = 10_000;

const GAPS = "`seq` grows by more than one.";

export const nextHistoryRoutes: readonly OpenCodeRoute[] = [
  { method: "GET", path: "/api/session/{sessionID}/history", partial: GAPS, handle: history },
  { method: "GET", path: "/api/session/{sessionID}/event", partial: GAPS, handle: events },
];

async function history(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const limit = numberIn(call.query, { name: "limit", least: 1, most: LONGEST }) ?? PAGE;
  const after = numberIn(call.query, AFTER) ?? 0;
  const { id: session } = await viewOf(call);
  const wanted = wantedOf(call, after);
  const rendering = await openAt(call.sessions, call.views.dialects.next, { session, sequence: placeBefore(after) });
  const found: NextEvent[] = [];
  while (found.length <= limit) {
    const query = { offset: rendering.sequence(), limit: READ, includeRaw: false };
    const { events: read } = await call.sessions.events(session, query);
    if (read.length === 0) break;
    for (const event of read) found.push(...wanted(rendering.render(event)));
  }
  return json({ data: found.slice(0, limit), hasMore: found.length > limit });
}

async function events(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const heard = Number(call.incoming.headers["last-event-id"] ?? "");
  const after = Number.isSafeInteger(heard) && heard > 0 ? heard : (numberIn(call.query, AFTER) ?? 0);
  const { id: session } = await viewOf(call);
  if (after === heard) await refuseBeyond(call, { session, seen: sequenceOf(after) });
  const wanted = wantedOf(call, after);
  await streamEvents({ ...call, heartbeatMs: HEARTBEAT_MS }, async ({ signal, write }) => {
    const place = { session, after: placeBefore(after), signal };
    for await (const group of follow(call.sessions, call.views.dialects.next, place)) {
      const frames = group.flatMap(({ out }) => wanted(out).map(frameOf));
      if (frames.length > 0) await write(frames.join(""));
    }
  });
  return "sent";
}

async function refuseBeyond(
  { sessions }: OpenCodeCall,
  { session, seen }: { readonly session: SessionId; readonly seen: number },
): Promise<void> {
  const { lastSequence: last } = await sessions.get(session, { limit: 0 });
  if (seen > last) throw new ApiError("events_lost", describeLost({ session, seen, last }));
}

const AFTER = { name: "after", least: 0, most: Number.MAX_SAFE_INTEGER };

/** The universal event that a number lies in is rendered again: it may hold more than what was heard. */
const placeBefore = (after: number): number => Math.max(0, sequenceOf(after) - 1);

const frameOf = (event: NextEvent): string => `id: ${event.durable?.seq}\ndata: ${JSON.stringify(event)}\n\n`;

/** Of this session, a child's or a root's, what is replayed and is not known yet. It names no directory. */
const wantedOf =
  ({ params: { sessionID } }: OpenCodeCall, after: number) =>
  (out: readonly PlacedEvent[]): NextEvent[] =>
    out.flatMap(({ event }) => {
      if (!("data" in event) || event.durable === undefined || !event.type.startsWith("session.next.")) return [];
      const { location: _, ...rest } = event;
      return event.durable.aggregateID === sessionID && event.durable.seq > after ? [rest] : [];
    });

/** A whole number in the query; null where there is none. */
export function numberIn(
  query: OpenCodeCall["query"],
  { name, least, most }: { readonly name: string; readonly least: number; readonly most: number },
): number | null {
  const given = query[name];
  if (given === undefined) return null;
  const value = given.trim() === "" ? Number.NaN : Number(given);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `between ${least} and ${most}`;
  throw new ApiError("invalid_request", `\`${name}\` is a whole number, ${range}.`);
}
