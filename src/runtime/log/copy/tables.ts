/**
 * The tables of a log that are worth copying, by one interface for both databases: sessions, their events, native
 * lines, items and prompts. Checkpoints and what projections store are caches and are rebuilt.
 */
import { areSettingsWhole, textChecksum } from "../checksum.ts";
import { integer, type Row, text } from "../rows.ts";

export type Value = null | number | string | Uint8Array;

/** One connection that nobody else uses. */
export interface CopyDatabase {
  readonly name: string;
  /** With `?` for each value. */
  readonly query: (sql: string, ...values: readonly Value[]) => Promise<readonly Row[]>;
  /** What stands before the name of a table. */
  readonly schema: string;
  /** Inserts a session without an owner, and returns its key. */
  readonly insertSession: (session: Row) => Promise<number>;
  /** Inserts groups of events, in order, and gives them positions. */
  readonly insertGroups: (session: number, rows: readonly Row[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

export type CopiedTable = "groups" | "native" | "items" | "prompts";

interface Columns {
  /** Rows of a session are copied in this order; only `prompts` has a number of its own for it. */
  readonly order: string;
  readonly columns: readonly string[];
}

export const COPIED: Readonly<Record<CopiedTable, Columns>> = {
  groups: { order: "last", columns: ["first", "last", "body", "checksum"] },
  native: { order: "last", columns: ["first", "last", "body", "checksum"] },
  items: { order: "number", columns: ["number", "sequence"] },
  prompts: {
    order: "ordinal",
    columns: ["id", "idempotency_key", "body", "delivery", "status", "sequence", "checksum"],
  },
};

export const TABLES: readonly CopiedTable[] = ["groups", "native", "items", "prompts"];

/** Rows that are read at a time: a group may be a quarter of a megabyte. */
const ROWS = 100;
const SESSIONS = 200;

/** Sessions in the order they were created. */
export async function* sessionsOf({ query, schema }: CopyDatabase): AsyncGenerator<Row> {
  const select = `SELECT key, id, settings, summary, last, agent, directory, checksum FROM ${schema}sessions
    WHERE id IS NOT NULL AND key > ? ORDER BY key LIMIT ${SESSIONS}`;
  let after = 0;
  for (let rows = await query(select, after); rows.length > 0; rows = await query(select, after)) {
    yield* rows;
    after = integer(rows.at(-1) ?? {}, "key");
  }
}

/** The rows of a session in one table, some at a time. */
export async function* rowsOf(
  { query, schema }: CopyDatabase,
  { table, session }: { readonly table: CopiedTable; readonly session: number },
): AsyncGenerator<readonly Row[]> {
  const { order, columns } = COPIED[table];
  const select = `SELECT ${order} AS place, ${columns.join(", ")} FROM ${schema}${table}
    WHERE session = ? AND ${order} > ? ORDER BY ${order} LIMIT ${ROWS}`;
  let after = -1;
  for (let rows = await query(select, session, after); rows.length > 0; rows = await query(select, session, after)) {
    yield rows;
    after = integer(rows.at(-1) ?? {}, "place");
  }
}

export async function insertRows(
  database: CopyDatabase,
  { table, session, rows }: { readonly table: CopiedTable; readonly session: number; readonly rows: readonly Row[] },
): Promise<void> {
  if (table === "groups") return database.insertGroups(session, rows);
  const { columns } = COPIED[table];
  const marks = columns.map(() => "?").join(", ");
  const insert = `INSERT INTO ${database.schema}${table} (session, ${columns.join(", ")}) VALUES (?, ${marks})`;
  await Promise.all(rows.map((row) => database.query(insert, session, ...columns.map((name) => valueIn(row, name)))));
}

/** The checksum of copied settings, which may have lost their secrets. Damaged ones stay damaged. */
export const copiedChecksum = (session: Row, settings: string): number =>
  areSettingsWhole(session) ? textChecksum(text(session, "id"), settings) : WRONG;

/** No checksum is negative. */
const WRONG = -1;

/** As it is written again: numbers may come as texts. */
export function valueIn(row: Row, name: string): Value {
  const value = row[name];
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "number" || value instanceof Uint8Array) return value;
  return Number(value);
}
