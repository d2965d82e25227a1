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

/** A delta that differs from `like` in what is said here, and the native line that caused it. */
export interface RepeatedDelta {
  readonly like: EventOf<"item.delta">;
  readonly sequence: number;
  /** Its time, as a number and as the event has it. */
  readonly at: number;
  readonly time: string;
  /** When the line was read. */
  readonly readAt: number;
  readonly line: number;
  readonly delta: string;
  readonly native: RepeatedLine;
}

/** A native line, the template it fits, and where its values are. */
export interface RepeatedLine extends LineSpan {
  readonly template: LineTemplate;
  readonly cuts: readonly number[];
}

export interface Repetition {
  readonly template: LineTemplate;
  readonly like: EventOf<"item.delta">;
  readonly item: OpenItem;
  readonly said: { text: string };
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
  if (machine.connection !== "open" || machine.ended || machine.requests.size > 0) return null;
  const { item_id, delta } = event.data;
  const said = snapshot.texts.get(item_id);
  const item = [...machine.ledger.open.values()].find((open) => open.item_id === item_id);
  if (said === undefined || item === undefined) return null;
  for (const keys of running.deltas.varying) {
    const template = cutLine(text, keys);
    if (template !== null && matchLine(template, spanOf(text))?.delta === delta) {
      return { template, like: event, item, said, pieces: [] };
    }
  }
  return null;
}

/** The delta of a line like the last one; null when it is not like it, and nothing has changed then. */
export function repeat(
  parts: Parts,
  { template, like, pieces }: Repetition,
  { line, at }: { readonly line: LineSpan; readonly at: number },
): RepeatedDelta | null {
  const matched = matchLine(template, line);
  if (matched === null || matched.delta === "") return null;
  const { delta, cuts } = matched;
  const { source, start, end } = line;
  const { running, machine, stamp, snapshot } = parts;
  if (running.deltas?.next(source, cuts) === false) return null;
  advance(stamp, at);
  stamp.sequence += 1;
  parts.lines += 1;
  if (at > machine.at) machine.at = at;
  machine.heardAt = machine.at;
  pieces.push(delta);
  snapshot.sequence = stamp.sequence;
  snapshot.time = stamp.timeText;
  return {
    like,
    sequence: stamp.sequence,
    at: stamp.time,
    time: stamp.timeText,
    readAt: at,
    line: parts.lines,
    delta,
    native: { source, start, end, template, cuts },
  };
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
