/**
 * What is served in the place of a damaged group: one error event that names the range, so that readers go on with the
 * rest of the session and nobody takes wrong data for right.
 */
import type { UniversalEvent } from "../../protocol/events.ts";
import { eventId, type SessionId } from "../../protocol/ids.ts";
import type { NativeLine } from "../../protocol/resources.ts";

export interface Damage {
  readonly session: SessionId;
  readonly kind: "events" | "native lines";
  readonly first: number;
  readonly last: number;
}

export const DAMAGED = "storage_damaged";

export function describeDamage({ session, kind, first, last }: Damage): string {
  const range = first === last ? `${first}` : `${first} to ${last}`;
  return (
    `The stored ${kind} ${range} of session ${session} are damaged and cannot be shown; the rest of the session can. ` +
    "Check the disk, and restore a backup of the data folder if you need them."
  );
}

export const describeDamagedSettings = (session: string): string =>
  `The stored settings of session ${session} are damaged: it can be read and deleted, and nothing runs in it. Restore a ` +
  "backup of the data folder to continue it.";

export const describeDamagedPrompt = (session: string, prompt: string): string =>
  `The stored prompt ${prompt} of session ${session} is damaged. If it has not run, it will not: send it again.`;

/** As stored bytes. Its sequence is the last of the range: a reader continues after the damage. */
export function damagedEvents(damage: Damage, time: string): Uint8Array {
  const { session, last, first } = damage;
  const data = { message: describeDamage(damage), code: DAMAGED, details: { first, last } };
  const event = eventOf({ session, sequence: last, time }, data);
  return Buffer.from(`${JSON.stringify(event)}\n`, "utf8");
}

export interface BeyondEnd {
  readonly session: SessionId;
  /** The last event that the reader has seen. */
  readonly seen: number;
  /** The last event there is. */
  readonly last: number;
}

export const describeLost = ({ session, seen, last }: BeyondEnd): string =>
  `You have seen event ${seen} of session ${session}, and its last event is ${last}: the log was damaged, or a backup ` +
  "was restored. Read the session again.";

/** Sent to a reader that has seen events which are not in the log; it is not stored. */
export const lostEvents = (beyond: BeyondEnd, time: string): UniversalEvent => {
  const { session, seen, last } = beyond;
  const data = { message: describeLost(beyond), code: "events_lost", details: { seen, last } };
  return eventOf({ session, sequence: last, time }, data);
};

interface Place {
  readonly session: SessionId;
  readonly sequence: number;
  readonly time: string;
}

const eventOf = (
  { session, sequence, time }: Place,
  data: { readonly message: string; readonly code: string; readonly details: unknown },
): UniversalEvent => ({
  event_id: eventId(session, sequence),
  sequence,
  time,
  session_id: session,
  native_session_id: null,
  turn_id: null,
  source: "daemon",
  synthetic: true,
  type: "error",
  data: { ...data, fatal: false },
  raw: null,
  cause: { line: null },
  v: 1,
});

export const damagedNative = (damage: Damage): NativeLine => ({
  line: damage.last,
  time: new Date(0).toISOString(),
  from: "process",
  native: { error: describeDamage(damage), code: DAMAGED, first: damage.first, last: damage.last },
});
