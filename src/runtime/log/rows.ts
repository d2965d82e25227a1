/** Rows of a database, whichever it is, as the values that a log hands out. What we stored ourselves is trusted. */
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { Owner, ProjectionCheckpoint, ProjectionRecord, Run } from "./contract.ts";
import type { Damage } from "./damage.ts";

export type Row = Readonly<Record<string, unknown>>;

export function text(row: Row, name: string): string {
  const value = row[name];
  return typeof value === "string" ? value : "";
}

export function integer(row: Row, name: string): number {
  const value = row[name];
  return typeof value === "number" ? value : Number(value ?? 0);
}

export function blob(row: Row, name: string): Uint8Array {
  const value = row[name];
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

export const idIn = (row: Row): SessionId => sessionId(text(row, "id"));

export function toRun(row: Row): Run {
  const owner = ownerIn(row, "owner") ?? { pid: 0, started: "" };
  return { runId: text(row, "id"), session: sessionId(text(row, "session")), owner, leader: ownerIn(row, "leader") };
}

export function ownerIn(row: Row, name: "owner" | "leader"): Owner | null {
  const pid = row[`${name}_pid`];
  return pid === null || pid === undefined ? null : { pid: Number(pid), started: text(row, `${name}_started`) };
}

export const toProjectionRecord = (row: Row): ProjectionRecord => ({
  place: integer(row, "key"),
  id: text(row, "id"),
  body: text(row, "body"),
});

export const toProjectionCheckpoint = (row: Row): ProjectionCheckpoint => ({
  sequence: integer(row, "sequence"),
  state: blob(row, "state"),
  known: row.known instanceof Uint8Array ? row.known : null,
});

/** Of a row that is not as it was written. */
export const damageIn = (row: Row, what: Pick<Damage, "session" | "kind">): Damage => ({
  ...what,
  first: integer(row, "first"),
  last: integer(row, "last"),
});
