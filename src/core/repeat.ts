/**
 * Delta after delta: the short way through a session for lines that are like the one before but for their text.
 *
 * A line that was stepped in full and led to one delta, and to nothing else, becomes a template. A line that fits it,
 * right after it, leads to the same delta with another text: that is what the adapter promises (`DeltaLines`), and the
 * turn machine does nothing else with the delta of an open item. Any other input ends it.
 * `test/runtime/repeat.test.ts` proves over all recordings that both ways store the same bytes.
 */
import type { EventOf, UniversalEvent } from "../protocol/events.ts";
import type { RunningAdapter } from "./adapter.ts";
import type { SessionOutput } from "./input.ts";
import { cutLine, type LineSpan, type LineTemplate, matchLine, spanOf } from "./line-template.ts";
import type { MachineState, OpenItem } from "./machine-state.ts";
import type { Snapshot } from "./snapshot.ts";
import { advance, place, type StampState } from "./stamp.ts";

/**
 * A delta that differs from `like` in what is said here, and the native line that caused it. All deltas of a repetition
 * share one such object: to keep something of it, copy it before the next line.
 */
export type RepeatedDelta = Readonly<Omit<Repeated, "native">> & { readonly native: RepeatedLine };

/** A native line, the template it fits, and where its values are. */
export interface RepeatedLine extends LineSpan {
  readonly template: LineTemplate;
  readonly cuts: readonly number[];
}

interface Repeated {
  readonly like: EventOf<"item.delta">;
  sequence: number;
  /** As the event has it. */
  time: string;
  /** When the line was read. */
  readAt: number;
  line: number;
  delta: string;
  readonly native: { readonly template: LineTemplate; readonly cuts: number[] } & Writable<LineSpan>;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface Repetition {
  readonly item: OpenItem;
  readonly said: { text: string };
  readonly repeated: Repeated;
  /** What was said since `settleTexts`: joined at once, where adding each to a long text would leave a long chain. */
  pieces: string[];
}

interface Parts {
  readonly running: RunningAdapter;
  readonly machine: MachineState;
  readonly stamp: StampState;
  readonly snapshot: Snapshot;
  lines: number;
}

/** What may be repeated after this line was stepped; null when nothing may. */
export function repetitionOf(
  { running, machine, snapshot }: Parts,
  { text, output }: { readonly text: string; readonly output: SessionOutput },
): Repetition | null {
  const [event, second] = output.events;
  if (running.deltas === null || event?.type !== "item.delta" || second !== undefined) return null;
  if (output.effects.length > 0 || output.native.length !== 1 || event.cause.rule !== undefined) return null;
  // Output of a tool may resolve a request: then it is not only a delta.
  if (machine.connection !== "open" || machine.ended || machine.requests.size > 0 || machine.held.size > 0) return null;
  const { item_id, delta } = event.data;
  const said = snapshot.texts.get(item_id);
  const item = machine.ledger.deltaItem;
  if (said === undefined || item?.item_id !== item_id) return null;
  for (const keys of running.deltas.varying) {
    const template = cutLine(text, keys);
    const cuts: number[] = [];
    if (template === null || matchLine(template, spanOf(text), cuts) !== delta) continue;
    // Field by field: the engine gives objects that are made by spreading another shape each time.
    const native = { source: text, start: 0, end: text.length, template, cuts };
    const repeated = { like: event, sequence: 0, time: "", readAt: 0, line: 0, delta, native };
    return { item, said, repeated, pieces: [] };
  }
  return null;
}

/** The delta of a line like the last one; null when it is not like it, and nothing has changed then. */
export function repeat(
  parts: Parts,
  { repeated, pieces }: Repetition,
  line: LineSpan,
  at: number,
): RepeatedDelta | null {
  const { native } = repeated;
  const delta = matchLine(native.template, line, native.cuts);
  if (delta === null || delta === "") return null;
  const { running, machine, stamp, snapshot } = parts;
  if (running.deltas?.next(line.source, native.cuts) === false) return null;
  advance(stamp, at);
  stamp.sequence += 1;
  parts.lines += 1;
  if (at > machine.at) machine.at = at;
  machine.heardAt = machine.at;
  pieces.push(delta);
  snapshot.sequence = stamp.sequence;
  snapshot.time = stamp.timeText;
  repeated.sequence = stamp.sequence;
  repeated.time = stamp.timeText;
  repeated.readAt = at + stamp.aheadMs;
  repeated.line = parts.lines;
  repeated.delta = delta;
  native.source = line.source;
  native.start = line.start;
  native.end = line.end;
  return repeated;
}

/** The texts of item and snapshot are brought up to date before anybody looks at them. */
export function settleTexts(repetition: Repetition): void {
  const { item, said, pieces } = repetition;
  if (pieces.length === 0) return;
  const text = pieces.join("");
  item.text += text;
  said.text += text;
  repetition.pieces = [];
}

/** The event itself, for those who want it whole. */
export function repeatedEvent({ like, sequence, time, line, delta }: RepeatedDelta): UniversalEvent {
  const { session_id, native_session_id, turn_id, source, synthetic } = like;
  const { item_id, native_item_id, part } = like.data;
  return place(
    { type: "item.delta", data: { item_id, native_item_id, delta, part } },
    { sequence, time, session_id, native_session_id, turn_id, source, synthetic, cause: { line } },
  );
}
