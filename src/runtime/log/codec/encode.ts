/**
 * Events as they are stored, one line each. Nearly all events are deltas that differ from the one before in a few
 * letters, so a delta that follows another like it is stored as the difference.
 *
 *     {"event_id":"s:7","sequence":7,…}   an event, whole
 *     "text"                              a delta like the one before: next sequence, next native line, this text
 *     12/3"text"                          the same, 12 ms later, caused three native lines further on
 */
import { type RepeatedDelta, repeatedEvent } from "../../../core/repeat.ts";
import { timeOf } from "../../../core/time-text.ts";
import type { EventOf, UniversalEvent } from "../../../protocol/events.ts";
import type { LineWriter } from "./line-writer.ts";

export interface EventEncoder {
  /** A group begins, with a whole event. */
  readonly begin: () => void;
  readonly add: (event: UniversalEvent) => void;
  /** A delta like one that was added before, without an object of its own. */
  readonly repeat: (repeated: RepeatedDelta) => void;
  /** About how many bytes of JSON the events are when each is whole. */
  readonly wholeBytes: () => number;
  /** The events that are stored whole. */
  readonly wholes: () => readonly UniversalEvent[];
}

/** A delta that another may follow: it names the native line that caused it, and no rule made it. */
type PlainDelta = EventOf<"item.delta"> & { readonly cause: { readonly line: number; readonly rule?: undefined } };

const isPlainDelta = (event: UniversalEvent): event is PlainDelta =>
  event.type === "item.delta" && event.cause.rule === undefined && event.cause.line !== null;

/** Where the last delta stands, and one like it. */
interface Run {
  like: EventOf<"item.delta">;
  sequence: number;
  line: number;
  time: string;
  /** The JSON of a delta like it, without its text. */
  readonly around: number;
}

/** What a delta has of its own. */
type Next = Pick<RepeatedDelta, "sequence" | "line" | "time" | "delta">;

export function openEventEncoder(lines: LineWriter): EventEncoder {
  let wholes: UniversalEvent[] = [];
  let run: Run | null = null;
  let wholeBytes = 0;

  const addWhole = (event: UniversalEvent): void => {
    const before = lines.size();
    lines.text(JSON.stringify(event));
    lines.endLine();
    const size = lines.size() - before;
    wholeBytes += size;
    wholes.push(event);
    const { sequence, time } = event;
    run = isPlainDelta(event)
      ? { like: event, sequence, line: event.cause.line, time, around: size - event.data.delta.length }
      : null;
  };

  const addNext = (last: Run, { sequence, line, time, delta }: Next): void => {
    if (time !== last.time) lines.integer(timeOf(time) - timeOf(last.time));
    if (line !== last.line + 1) {
      lines.text("/");
      lines.integer(line - last.line);
    }
    lines.literal(delta);
    lines.endLine();
    wholeBytes += last.around + delta.length;
    last.sequence = sequence;
    last.line = line;
    last.time = time;
  };

  return {
    begin() {
      wholes = [];
      run = null;
      wholeBytes = 0;
    },
    add(event) {
      if (run === null || !isPlainDelta(event) || !isLike(run.like, event)) return addWhole(event);
      const next = { sequence: event.sequence, line: event.cause.line, time: event.time, delta: event.data.delta };
      if (!follows(run, next)) return addWhole(event);
      addNext(run, next);
      run.like = event;
    },
    repeat(repeated) {
      const { like } = repeated;
      // The run is mostly of the very event that is repeated.
      const fits = run !== null && (run.like === like || isLike(run.like, like)) && follows(run, repeated);
      if (run === null || !fits) addWhole(repeatedEvent(repeated));
      else addNext(run, repeated);
      if (run !== null) run.like = like;
    },
    wholeBytes: () => wholeBytes,
    wholes: () => wholes,
  };
}

/** Time and native lines never go back; texts of times compare as the times do. */
const follows = (last: Run, next: Next): boolean =>
  next.sequence === last.sequence + 1 && next.time >= last.time && next.line >= last.line;

const isLike = (last: EventOf<"item.delta">, next: EventOf<"item.delta">): boolean =>
  next.data.item_id === last.data.item_id &&
  next.data.part === last.data.part &&
  next.data.native_item_id === last.data.native_item_id &&
  next.turn_id === last.turn_id &&
  next.native_session_id === last.native_session_id &&
  next.session_id === last.session_id &&
  next.source === last.source &&
  next.synthetic === last.synthetic;
