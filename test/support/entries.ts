/** Something to append to a log: events of no interest, each caused by a native line of its own. */
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { eventId, type SessionId } from "../../src/protocol/ids.ts";
import { openCodec } from "../../src/runtime/log/codec/codec.ts";
import type { EncodedEvents, EntryWriter } from "../../src/runtime/log/contract.ts";

interface Span {
  readonly id: SessionId;
  readonly first: number;
  readonly last: number;
}

const eventAt = (id: SessionId, sequence: number): UniversalEvent => ({
  event_id: eventId(id, sequence),
  sequence,
  time: "2026-01-01T00:00:00.000Z",
  session_id: id,
  native_session_id: null,
  turn_id: null,
  source: "daemon",
  synthetic: true,
  type: "error",
  data: { message: "word ".repeat(20), code: null, details: null, fatal: false },
  raw: null,
  cause: { line: sequence },
  v: 1,
});

export function encodeEntry({ id, first, last }: Span): ReturnType<EntryWriter["finish"]> {
  const writer = openCodec().openWriter();
  for (let number = first; number <= last; number += 1) {
    writer.event(eventAt(id, number));
    writer.native({ line: number, at: 0, from: "agent", text: JSON.stringify({ line: number }) });
  }
  return writer.finish();
}

export function encodeEvents(span: Span): EncodedEvents {
  const { events } = encodeEntry(span);
  if (events === null) throw new Error("there is nothing to append");
  return events;
}
