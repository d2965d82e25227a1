/**
 * Events as they are stored, one line each. Nearly all events are deltas that differ from the one before in a few
 * letters, so a delta that follows another like it is stored as the difference.
 *
 *     {"event_id":"s:7","sequence":7,…}   an event, whole
 *     "text"                              a delta like the one before: next sequence, next native line, this text
 *     12/3"text"                          the same, 12 ms later, caused three native lines further on
 */
import type { EventOf, UniversalEvent } from "../../../protocol/events.ts";
import type { LineWriter } from "./line-writer.ts";

export interface EventEncoder {
  readonly add: (event: UniversalEvent) => void;
  /** About how many bytes of JSON the events are when each is whole. */
  readonly wholeBytes: () => number;
}

/** A delta that another may follow: it names the native line that caused it, and no rule made it. */
type PlainDelta = EventOf<"item.delta"> & { readonly cause: { readonly line: number; readonly rule?: undefined } };

const isPlainDelta = (event: UniversalEvent): event is PlainDelta =>
  event.type === "item.delta" && event.cause.rule === undefined && event.cause.line !== null;

/** One for each group: a group begins with a whole event. */
export function openEventEncoder(lines: LineWriter): EventEncoder {
  let last: PlainDelta | null = null;
  /** The JSON of a delta like the last, without its text. */
  let around = 0;
  let wholeBytes = 0;

  const addWhole = (event: UniversalEvent): void => {
    const before = lines.size();
    lines.text(JSON.stringify(event));
    lines.endLine();
    const size = lines.size() - before;
    wholeBytes += size;
    last = isPlainDelta(event) ? event : null;
    if (last !== null) around = size - last.data.delta.length;
  };

  return {
    add(event) {
      if (last === null || !isPlainDelta(event) || !follows(last, event)) return addWhole(event);
      if (event.time !== last.time) lines.integer(Date.parse(event.time) - Date.parse(last.time));
      if (event.cause.line !== last.cause.line + 1) {
        lines.text("/");
        lines.integer(event.cause.line - last.cause.line);
      }
      lines.literal(event.data.delta);
      lines.endLine();
      wholeBytes += around + event.data.delta.length;
      last = event;
    },
    wholeBytes: () => wholeBytes,
  };
}

/** Time and native lines never go back; texts of times compare as the times do. */
const follows = (last: PlainDelta, next: PlainDelta): boolean =>
  next.sequence === last.sequence + 1 &&
  next.time >= last.time &&
  next.cause.line >= last.cause.line &&
  next.data.item_id === last.data.item_id &&
  next.data.part === last.data.part &&
  next.data.native_item_id === last.data.native_item_id &&
  next.turn_id === last.turn_id &&
  next.native_session_id === last.native_session_id &&
  next.session_id === last.session_id &&
  next.source === last.source &&
  next.synthetic === last.synthetic;
