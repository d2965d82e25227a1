/**
 * Gives a draft its place in the session: sequence, ids and time. Deterministic: the same input gives the same bytes.
 */
import type { Draft, Envelope, UniversalEvent } from "../protocol/events.ts";
import { eventId, type SessionId } from "../protocol/ids.ts";
import type { Drafted } from "./machine-state.ts";
import { timeText } from "./time-text.ts";

export interface StampState {
  readonly session: SessionId;
  sequence: number;
  /** How far event times are ahead of the inputs' `at`. */
  aheadMs: number;
  /** The latest time in epoch milliseconds, and its text: many events share a millisecond. */
  time: number;
  timeText: string;
}

export const startStamp = (session: SessionId): StampState => ({
  session,
  sequence: 0,
  aheadMs: 0,
  time: 0,
  timeText: timeText(0),
});

/** Time never goes back within a session. */
export function advance(state: StampState, at: number): void {
  const time = at + state.aheadMs;
  if (time <= state.time) return;
  state.time = time;
  state.timeText = timeText(time);
}

export interface Place {
  readonly native_session_id: string | null;
  /** The native line that caused it. */
  readonly line: number | null;
}

export function stamp(state: StampState, drafted: Drafted, { native_session_id, line }: Place): UniversalEvent {
  state.sequence += 1;
  const { draft, turn_id, source, synthetic, rule } = drafted;
  const cause = rule === null ? { line } : { line, rule };
  const { sequence, session: session_id, timeText: time } = state;
  return place(draft, { sequence, time, session_id, native_session_id, turn_id, source, synthetic, cause });
}

/** The one place that says in which order an event has its fields. */
export function place<D extends Draft>(draft: D, envelope: Omit<Envelope, "event_id" | "raw" | "v">): D & Envelope;
// Field by field: a spread in the middle of an object costs more than all the rest. The compiler does not see that type
// and data of one draft belong together, so what is returned is said above.
export function place(
  draft: Draft,
  envelope: Omit<Envelope, "event_id" | "raw" | "v">,
): Envelope & Pick<Draft, "type" | "data"> {
  return {
    event_id: eventId(envelope.session_id, envelope.sequence),
    sequence: envelope.sequence,
    time: envelope.time,
    session_id: envelope.session_id,
    native_session_id: envelope.native_session_id,
    turn_id: envelope.turn_id,
    source: envelope.source,
    synthetic: envelope.synthetic,
    type: draft.type,
    data: draft.data,
    raw: null,
    cause: envelope.cause,
    v: 1,
  };
}
