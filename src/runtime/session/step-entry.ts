/** Steps what waits in the writer's queue: lines like the one before the short way, everything else in full. */
import type { Effect } from "../../core/input.ts";
import { type LineSpan, spanOf, textOf } from "../../core/line-template.ts";
import type { Session } from "../../core/session.ts";
import { parseLine } from "../agent/connection/parse-line.ts";
import type { Redactor } from "../redact.ts";
import type { Origin, Recorder } from "./record.ts";
import { inputFromAgent } from "./writer-inputs.ts";
import type { InputEntry, LinesEntry } from "./writer-state.ts";

/** A group that is being made. */
export interface Stepping {
  readonly session: Session;
  readonly recorder: Recorder;
  readonly redactor: Redactor;
  readonly effects: Effect[];
}

/** Steps lines until the group has its size, or there are no more. Returns how many there were. */
export function stepLines(
  stepping: Stepping,
  { entry, groupBytes }: { readonly entry: LinesEntry; readonly groupBytes: number },
): number {
  const { text } = entry;
  const line = { source: text, start: 0, end: 0 };
  let count = 0;
  while (entry.next <= text.length) {
    const newline = text.indexOf("\n", entry.next);
    line.start = entry.next;
    line.end = newline < 0 ? text.length : newline;
    entry.next = line.end + 1;
    count += 1;
    stepLine(stepping, line, entry);
    if (stepping.recorder.size() >= groupBytes) break;
  }
  return count;
}

function stepLine(stepping: Stepping, line: LineSpan, { at, hasSecrets }: LinesEntry): void {
  const { session, recorder, redactor } = stepping;
  const repeated = hasSecrets ? null : session.repeat(line, at);
  if (repeated !== null) return recorder.repeat(repeated);
  const text = textOf(line);
  // Blank lines say nothing.
  if (text.trim() !== "") stepInFull(stepping, inputFromAgent(redactor, { heard: parseLine(text), at }));
}

export function stepInput(stepping: Stepping, entry: InputEntry): void {
  const { input, origin } = entry;
  const repeated = origin === null ? null : stepping.session.repeat(spanOf(origin.text), input.at);
  if (repeated !== null) stepping.recorder.repeat(repeated);
  else stepInFull(stepping, entry);
}

function stepInFull({ session, recorder, effects }: Stepping, { input, origin }: InputEntry): void {
  const output = session.step(input, writtenAs(origin));
  recorder.add(output, origin);
  for (const effect of output.effects) effects.push(effect);
}

/** A line with newlines in it (events over HTTP may have them) is not stored as it was written. */
const writtenAs = (origin: Origin | null): string | undefined =>
  origin === null || origin.text.includes("\n") ? undefined : origin.text;
