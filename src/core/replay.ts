/**
 * Recorded lines of one conversation through a session's fold, with the recorded times: what becomes due between two
 * lines is stepped before the second. The recording of a live stream, a session file and an import all go this way.
 */

import type { UniversalEvent } from "../protocol/events.ts";
import { sessionId } from "../protocol/ids.ts";
import type { Adapter } from "./adapter.ts";
import { defaultPolicy, type SessionInput, type SessionOutput, type TurnPolicy } from "./input.ts";
import { noRules } from "./permission-rules.ts";
import type { Recorded } from "./recorded.ts";
import { openSession, type Session } from "./session.ts";
import { isTime } from "./time-text.ts";

const WEEK_MS = 604_800_000;

// The person in a recording took the time they took, and a silent agent went on or did not: only the grace runs.
export const recordedPolicy: TurnPolicy = {
  ...defaultPolicy,
  watchdogMs: WEEK_MS,
  unattended: { policy: "park", deadlineMs: WEEK_MS },
  permissionRules: noRules,
};

/** The outputs of one input, after those of the ticks that were due before it. `from`: nothing is due before that. */
export function* stepWithTicks(
  session: Session,
  input: SessionInput,
  from: number | null,
): Generator<SessionOutput, void> {
  const isDue = (due: number): boolean => due < input.at && from !== null && due >= from;
  for (let due = session.wakeAt(); due !== null && isDue(due); ) {
    yield session.step({ type: "tick", at: due });
    const next = session.wakeAt();
    if (next === due) break;
    due = next;
  }
  yield session.step(input);
}

export type TimedRecord = Recorded & { readonly at: number };

/** Each record with its time; where it has none, or goes back, the clock stands still. */
export function* timed(records: Iterable<Recorded>, start = 0): Generator<TimedRecord, void> {
  let at = start;
  for (const record of records) {
    if (isTime(record.at)) at = Math.max(at, record.at);
    yield { ...record, at };
  }
}

/** The records of one conversation: all belong to this session, whatever thread or process said them. */
export function* replay(session: Session, records: Iterable<Recorded>, start = 0): Generator<SessionOutput, void> {
  let from: number | null = start > 0 ? start : null;
  for (const record of timed(records, start)) {
    if (record.at > 0) from ??= record.at;
    yield* stepWithTicks(session, inputOf(record), from);
  }
}

function inputOf(record: TimedRecord): SessionInput {
  if (record.type === "exit") return { type: "disconnected", exit: record.exit, at: record.at };
  return record;
}

/** The events of an output, each with the native line that caused it. `hostLines`: what the host said before. */
export function withRaw({ events, native }: SessionOutput, hostLines: Map<number, unknown>): UniversalEvent[] {
  for (const { from, line, native: said } of native) if (from === "host") hostLines.set(line, said);
  return events.map((event) => {
    const { line } = event.cause;
    const raw = native.find((one) => one.line === line)?.native ?? (line === null ? undefined : hostLines.get(line));
    return raw === undefined ? event : { ...event, raw };
  });
}

export interface RecordsConversion {
  readonly adapter: Adapter;
  /** Names the session. */
  readonly id: string;
  readonly records: readonly Recorded[];
  readonly includeRaw?: boolean;
}

/** The events of one recorded conversation; what is open at its end ends with it. */
export function* convertRecords({
  adapter,
  id,
  records,
  includeRaw = false,
}: RecordsConversion): Generator<UniversalEvent> {
  const session = openSession({ sessionId: sessionId(id), adapter, policy: recordedPolicy, connected: true });
  const hostLines = new Map<number, unknown>();
  const end: Recorded = { type: "exit", exit: { code: null, signal: null }, at: null };
  for (const output of replay(session, [...records, end])) {
    yield* includeRaw ? withRaw(output, hostLines) : output.events;
  }
}
