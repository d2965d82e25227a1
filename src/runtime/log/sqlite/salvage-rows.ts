/** What was found in a damaged file, as rows of our tables. A row that cannot be one of ours is damaged. */
import type { UniversalEvent } from "../../../protocol/events.ts";
import { areSettingsWhole, isWhole } from "../checksum.ts";
import { decodeNotable } from "../codec/decode.ts";
import { decodeNative } from "../codec/native.ts";
import type { Row } from "../rows.ts";
import type { TableRow, Value } from "./file-format/pages.ts";

/** In the order of the file; the first column of the tables with a number is that number. */
export const COLUMNS = {
  sessions: [
    ...["key", "id", "settings", "summary", "last", "owner_pid", "owner_started", "agent", "directory"],
    ...["checksum", "summary_checksum"],
  ],
  prompts: ["ordinal", "session", "id", "idempotency_key", "body", "delivery", "status", "sequence", "checksum"],
  runs: ["id", "session", "owner_pid", "owner_started", "leader_pid", "leader_started"],
  groups: ["position", "session", "first", "last", "body", "checksum"],
  native: ["key", "session", "first", "last", "body", "checksum"],
} as const;
export type SalvagedTable = keyof typeof COLUMNS;
export const SALVAGED: readonly SalvagedTable[] = ["sessions", "prompts", "runs", "groups", "native"];

const NUMBERS: ReadonlySet<string> = new Set([
  "key",
  "last",
  "ordinal",
  "sequence",
  "position",
  "first",
  "checksum",
  "owner_pid",
  "leader_pid",
  "summary_checksum",
]);
const NULLABLE: ReadonlySet<string> = new Set([
  "owner_pid",
  "owner_started",
  "leader_pid",
  "leader_started",
  "idempotency_key",
  "summary_checksum",
]);

/** Each group begins with a whole event, which names its session near its beginning. */
const NAMED_WITHIN_BYTES = 4_096;

export type SalvagedRow = Readonly<Record<string, Value>>;

/** Null when a value is missing or of another kind than its column. Rows from before a column was added are shorter. */
export function toRow(table: SalvagedTable, { rowid, values }: TableRow): SalvagedRow | null {
  const columns: readonly string[] = COLUMNS[table];
  if (values.length > columns.length) return null;
  const row: Record<string, Value> = {};
  for (const [index, column] of columns.entries()) {
    const value = index === 0 && table !== "runs" ? rowid : (values[index] ?? null);
    if (!fits(value, { table, column })) return null;
    row[column] = value;
  }
  return row;
}

function fits(value: Value, { table, column }: { table: SalvagedTable; column: string }): boolean {
  // A session that is being deleted has no id any more.
  if (value === null)
    return NULLABLE.has(column) || (table === "sessions" && column === "id") || isUnsummed(table, column);
  if (column === "body" && table !== "prompts") return value instanceof Uint8Array;
  const isNumber = NUMBERS.has(column) || (column === "session" && table !== "runs");
  return isNumber ? Number.isSafeInteger(value) : typeof value === "string";
}

/** Records and prompts of older versions have no checksum. */
const isUnsummed = (table: SalvagedTable, column: string): boolean =>
  column === "checksum" && (table === "sessions" || table === "prompts");

/** The table that a row belongs to, by its content; null when it is damaged or of another table. */
export function tableOf(row: TableRow): SalvagedTable | null {
  return SALVAGED.find((table) => isRowOf(table, toRow(table, row))) ?? null;
}

function isRowOf(table: SalvagedTable, row: SalvagedRow | null): boolean {
  if (row === null) return false;
  switch (table) {
    case "sessions":
      return isSession(row);
    case "prompts":
      return isPrompt(row);
    case "runs":
      return true;
    case "groups":
      return !isNative(row) && eventsIn(row) !== null && sessionNamedIn(row) !== null;
    case "native":
      return isNative(row);
  }
}

const isSession = (row: SalvagedRow): boolean => usableSession(row) !== null;

/** Replaces the checksum of damaged data. Real checksums are never negative. */
const WRONG = -1;

/**
 * A row of `sessions`; null when it is damaged. Where only the settings or only the summary cannot be read, the other
 * one confirms the id of the session, which can then be read.
 */
export function usableSession(row: SalvagedRow): SalvagedRow | null {
  const { id, agent, directory } = row;
  const create = fieldOf(parsed(row.settings), "create");
  const summary = parsed(row.summary);
  const hasSettings = fieldOf(create, "agent") === agent && (fieldOf(create, "directory") ?? "") === directory;
  const hasSummary =
    (id === null || fieldOf(summary, "sessionId") === id) && isListed(fieldOf(summary, "lastSequence"), row.last);
  if (hasSettings && hasSummary) return row;
  if (hasSummary) {
    const settings = JSON.stringify({ create: { agent, directory }, forkOf: null });
    return { ...row, settings, checksum: WRONG };
  }
  if (!hasSettings || typeof row.checksum !== "number" || !areSettingsWhole(row)) return null;
  return { ...row, summary: JSON.stringify({ sessionId: id, lastSequence: 0 }), summary_checksum: WRONG };
}

/** The summary may be some deltas behind. */
const isListed = (listed: unknown, last: unknown): boolean =>
  typeof listed === "number" && typeof last === "number" && listed <= last;

export const isPrompt = (row: SalvagedRow): boolean =>
  fieldOf(parsed(row.body), "prompt_id") === row.id &&
  ["queued", "started", "done", "dropped"].some((status) => status === row.status) &&
  ["queue", "steer"].some((delivery) => delivery === row.delivery);

/** The events of a group that are not deltas; null when the group is damaged. */
export function eventsIn(row: SalvagedRow): readonly UniversalEvent[] | null {
  if (!isWhole(row)) return null;
  try {
    return decodeNotable(bytesIn(row));
  } catch {
    return null;
  }
}

export function isNative(row: SalvagedRow): boolean {
  if (!isWhole(row)) return false;
  try {
    const lines = decodeNative(bytesIn(row));
    return lines[0]?.line === row.first && lines.at(-1)?.line === row.last;
  } catch {
    return false;
  }
}

/** The session that a stored group says it belongs to; null when it says nothing. */
export function sessionNamedIn(row: SalvagedRow): string | null {
  const start = Buffer.from(bytesIn(row).subarray(0, NAMED_WITHIN_BYTES)).toString("utf8");
  const match = /"session_id":("(?:[^"\\]|\\.)+")/.exec(start);
  const name: unknown = match === null ? null : parsed(match[1]);
  return typeof name === "string" ? name : null;
}

const bytesIn = (row: Row): Uint8Array => (row.body instanceof Uint8Array ? row.body : new Uint8Array(0));

function parsed(value: Value | undefined): unknown {
  try {
    return typeof value === "string" ? JSON.parse(value) : null;
  } catch {
    return null;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}
