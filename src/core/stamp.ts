/**
 * Gives a draft its place in the session: sequence, ids and time. Deterministic: the same input gives the same bytes.
 */
import type { UniversalEvent } from "../protocol/events.ts";
import { eventId, type SessionId } from "../protocol/ids.ts";
import type { Drafted } from "./machine-state.ts";

export interface StampState {
  readonly session: SessionId;
  sequence: number;
  /** The latest `at`, and its text: many events share a millisecond. */
  time: number;
  timeText: string;
}

export const startStamp = (session: SessionId): StampState => ({
  session,
  sequence: 0,
  time: 0,
  timeText: new Date(0).toISOString(),
});

/** Time never goes back within a session. */
export function advance(state: StampState, at: number): void {
  if (at <= state.time) return;
  state.time = at;
  state.timeText = new Date(at).toISOString();
}

export interface Place {
  readonly native_session_id: string | null;
  /** The native line that caused it. */
  readonly line: number | null;
}

export function stamp(state: StampState, drafted: Drafted, place: Place): UniversalEvent {
  state.sequence += 1;
  const { draft } = drafted;
  const cause = drafted.rule === null ? { line: place.line } : { line: place.line, rule: drafted.rule };
  // Deltas are nearly all there is, and a spread in the middle of an object costs more than all the rest.
  if (draft.type === "item.delta") {
    return {
      event_id: eventId(state.session, state.sequence),
      sequence: state.sequence,
      time: state.timeText,
      session_id: state.session,
      native_session_id: place.native_session_id,
      turn_id: drafted.turn_id,
      source: drafted.source,
      synthetic: drafted.synthetic,
      type: draft.type,
      data: draft.data,
      raw: null,
      cause,
      v: 1,
    };
  }
  return {
    event_id: eventId(state.session, state.sequence),
    sequence: state.sequence,
    time: state.timeText,
    session_id: state.session,
    native_session_id: place.native_session_id,
    turn_id: drafted.turn_id,
    source: drafted.source,
    synthetic: drafted.synthetic,
    ...draft,
    raw: null,
    cause,
    v: 1,
  };
}
