/**
 * Events as they are stored, one line each. Deltas are nearly all there is and repeat all but a few letters, so one
 * that follows another like it is stored as what differs. What is told is made from this when somebody listens.
 *
 *     {"event_id":"s:7","sequence":7,…}   an event, whole
 *     "text"                              a delta like the one before: next sequence, next native line, this text
 *     12/3"text"                          the same, 12 ms later, caused three native lines further on
 */
import type { EventOf, UniversalEvent } from "../../../protocol/events.ts";
import type { LinesWriter } from "./lines-writer.ts";

export interface Packer {
  readonly add: (event: UniversalEvent) => void;
  /** About how much it is when it is told. */
  readonly told: () => number;
}

/** A delta that another may follow: it says which native line caused it, and no rule made it. */
type Delta = EventOf<"item.delta"> & { readonly cause: { readonly line: number; readonly rule?: undefined } };

export const isPlainDelta = (event: UniversalEvent): event is Delta =>
  event.type === "item.delta" && event.cause.rule === undefined && event.cause.line !== null;

/** One for each group: a group begins with a whole event. */
export function openPacker(lines: LinesWriter): Packer {
  let last: Delta | null = null;
  /** What telling a delta like the last takes, besides its text. */
  let around = 0;
  let told = 0;

  const addWhole = (event: UniversalEvent): void => {
    const before = lines.size();
    lines.text(JSON.stringify(event));
    lines.endLine();
    const size = lines.size() - before;
    told += size;
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
      told += around + event.data.delta.length;
      last = event;
    },
    told: () => told,
  };
}

/** Time and native lines never go back; texts of times compare as the times do. */
const follows = (last: Delta, next: Delta): boolean =>
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
