/** Streams with `include_raw`: the native lines are stored apart, so these frames are made for one reader alone. */
import * as z from "zod";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Call } from "../http/route.ts";
import { type EventStream, frame } from "../http/sse.ts";
import { flag } from "./query.ts";

/** How many events are read at a time. */
const PAGE = 10_000;

export const includeRaw = flag.default(false).describe("Fills `raw` with the native line that caused the event.");

/** For streams that ask for nothing else. */
export const rawQuery = z.object({ include_raw: includeRaw });

export interface RawRange {
  readonly call: Call<unknown, unknown>;
  readonly session: SessionId;
  readonly stream: EventStream;
  /** The events with `after < sequence <= last`. */
  readonly after: number;
  readonly last: number;
  /** What a client repeats to continue after the event. */
  readonly idOf: (event: UniversalEvent) => string;
}

export async function writeRaw({ call, session, stream, after, last, idOf }: RawRange): Promise<void> {
  let offset = after;
  while (offset < last && !stream.signal.aborted) {
    const query = { offset, limit: Math.min(last - offset, PAGE), includeRaw: true };
    const { events } = await call.sessions.events(session, query);
    if (events.length === 0) return;
    await stream.write(events.map((event) => frame({ id: idOf(event), data: JSON.stringify(event) })).join(""));
    offset += events.length;
  }
}
