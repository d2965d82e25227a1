/** Stored events (encode.ts says how they are stored) as values again. What we stored ourselves is trusted. */
import { assert } from "../../../core/fold.ts";
import { place } from "../../../core/stamp.ts";
import { timeOf, timeText } from "../../../core/time-text.ts";
import type { EventOf, UniversalEvent } from "../../../protocol/events.ts";

type Delta = EventOf<"item.delta">;

const NEWLINE = 0x0a;
const WHOLE = Buffer.from("\n{");
const TYPE = Buffer.from('"type":"');
const DELTA = Buffer.from('"type":"item.delta"');

export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** `wholes`: the events that are stored whole, where they are at hand; they are not parsed again then. */
export function decodeEvents(bytes: Uint8Array, wholes: readonly UniversalEvent[] = []): UniversalEvent[] {
  const events: UniversalEvent[] = [];
  let last: Delta | null = null;
  let whole = 0;
  for (const line of asBuffer(bytes).toString("utf8").split("\n")) {
    if (line === "") continue;
    if (line.startsWith("{")) {
      const event: UniversalEvent = wholes[whole++] ?? JSON.parse(line);
      events.push(event);
      last = event.type === "item.delta" ? event : null;
    } else {
      assert(last !== null, "what differs from an event follows it");
      last = nextDelta(last, line);
      events.push(last);
    }
  }
  return events;
}

/** The events that are not deltas. Lines of deltas are not parsed, nor even looked at. */
export function decodeNotable(bytes: Uint8Array): UniversalEvent[] {
  const source = asBuffer(bytes);
  const events: UniversalEvent[] = [];
  for (let start = 0; start >= 0 && start < source.length; start = nextWhole(source, start)) {
    // Quotes inside of texts are escaped, so the first match is the event's own type.
    const type = source.indexOf(TYPE, start);
    if (source.subarray(type, type + DELTA.length).equals(DELTA)) continue;
    const event: UniversalEvent = JSON.parse(source.toString("utf8", start, source.indexOf(NEWLINE, start)));
    events.push(event);
  }
  return events;
}

function nextWhole(source: Buffer, start: number): number {
  const end = source.indexOf(WHOLE, start);
  return end < 0 ? -1 : end + 1;
}

export function decodeFirst(bytes: Uint8Array): UniversalEvent {
  const source = asBuffer(bytes);
  const event: UniversalEvent = JSON.parse(source.toString("utf8", 0, source.indexOf(NEWLINE)));
  return event;
}

function nextDelta(last: Delta, line: string): Delta {
  const quote = line.indexOf('"');
  const slash = quote === 0 ? -1 : line.lastIndexOf("/", quote);
  const ms = quote === 0 ? 0 : Number(line.slice(0, slash < 0 ? quote : slash));
  const lines = slash < 0 ? 1 : Number(line.slice(slash + 1, quote));
  const { session_id, native_session_id, turn_id, source, synthetic } = last;
  const { item_id, native_item_id, part } = last.data;
  const data = { item_id, native_item_id, delta: literal(line.slice(quote)), part };
  return place(
    { type: "item.delta", data },
    {
      sequence: last.sequence + 1,
      time: ms === 0 ? last.time : timeText(timeOf(last.time) + ms),
      session_id,
      native_session_id,
      turn_id,
      source,
      synthetic,
      cause: { line: (last.cause.line ?? 0) + lines },
    },
  );
}

/** Most texts have nothing to unescape. */
const literal = (json: string): string => (json.includes("\\") ? JSON.parse(json) : json.slice(1, -1));
