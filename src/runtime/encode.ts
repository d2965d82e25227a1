/** Events as JSON lines. Deltas are nearly all there is, and all but three of their fields repeat: kept as bytes. */
import type { EventOf, UniversalEvent } from "../protocol/events.ts";
import type { LinesWriter } from "./log/lines-writer.ts";

export type WriteEvent = (event: UniversalEvent, lines: LinesWriter) => void;

/** Writes exactly what `JSON.stringify` gives, at a fraction of its cost where it matters. One a session. */
export function openEncoder(): WriteEvent {
  const around = surroundings();
  return (event, lines) => {
    if (event.type === "item.delta" && event.cause.rule === undefined && event.cause.line !== null) {
      const { head, middle, tail } = around(event);
      lines.bytes(head);
      lines.integer(event.sequence);
      lines.bytes(SEQUENCE);
      lines.integer(event.sequence);
      lines.bytes(middle);
      lines.text(JSON.stringify(event.data.delta));
      lines.bytes(tail);
      lines.integer(event.cause.line);
      lines.bytes(END);
    } else lines.text(JSON.stringify(event));
    lines.endLine();
  };
}

const SEQUENCE = Buffer.from('","sequence":');
const END = Buffer.from('},"v":1}');

interface Surroundings {
  readonly head: Buffer;
  readonly middle: Buffer;
  readonly tail: Buffer;
}

/** All of a delta but its number, its text and its line. Remembered: it is the same for many in a row. */
function surroundings(): (event: EventOf<"item.delta">) => Surroundings {
  let last: EventOf<"item.delta"> | null = null;
  let known: Surroundings = { head: END, middle: END, tail: END };
  return (event) => {
    if (last === null || !isAlike(last, event)) known = surround(event);
    last = event;
    return known;
  };
}

const isAlike = (one: EventOf<"item.delta">, other: EventOf<"item.delta">): boolean =>
  one.time === other.time &&
  one.session_id === other.session_id &&
  one.native_session_id === other.native_session_id &&
  one.turn_id === other.turn_id &&
  one.source === other.source &&
  one.synthetic === other.synthetic &&
  one.data.item_id === other.data.item_id &&
  one.data.native_item_id === other.data.native_item_id &&
  one.data.part === other.data.part;

function surround(event: EventOf<"item.delta">): Surroundings {
  const { data } = event;
  const id = JSON.stringify(event.session_id);
  return {
    head: Buffer.from(`{"event_id":${id.slice(0, -1)}:`),
    middle: Buffer.from(
      `,"time":"${event.time}","session_id":${id},"native_session_id":${JSON.stringify(event.native_session_id)},` +
        `"turn_id":${JSON.stringify(event.turn_id)},"source":"${event.source}","synthetic":${event.synthetic},` +
        `"type":"item.delta","data":{"item_id":${JSON.stringify(data.item_id)},` +
        `"native_item_id":${JSON.stringify(data.native_item_id)},"delta":`,
    ),
    tail: Buffer.from(`,"part":"${data.part}"},"raw":null,"cause":{"line":`),
  };
}
