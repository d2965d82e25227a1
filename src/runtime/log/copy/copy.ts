/**
 * Copies sessions from one log to another. Each session is one transaction: it is there whole or not at all, so a copy
 * that was cut off is simply begun again. What was copied is read back and compared by digest.
 */
import { createHash, type Hash } from "node:crypto";
import { isWhole } from "../checksum.ts";
import { integer, type Row, text } from "../rows.ts";
import { withoutSecrets } from "../secrets.ts";
import {
  COPIED,
  type CopiedTable,
  type CopyDatabase,
  insertRows,
  rowsOf,
  sessionsOf,
  TABLES,
  valueIn,
} from "./tables.ts";

export interface Copied {
  readonly copied: number;
  /** Sessions that were there already, with the same content. */
  readonly present: number;
  /** Groups of events, and of native lines, that were copied. */
  readonly groups: number;
  /** Groups whose checksum was wrong before: they were copied as they are. */
  readonly damaged: number;
  /** Sessions that are there with another content: they were left alone. */
  readonly different: readonly string[];
}

export interface Copy {
  readonly from: CopyDatabase;
  readonly to: CopyDatabase;
  readonly onSession?: (id: string) => void;
}

export async function copyLog({ from, to, onSession = () => {} }: Copy): Promise<Copied> {
  const total = { copied: 0, present: 0, groups: 0, damaged: 0 };
  const different: string[] = [];
  for await (const session of sessionsOf(from)) {
    const id = text(session, "id");
    if ((await keyOf(to, id)) === null) {
      const { groups, damaged } = await copySession({ from, to }, session);
      total.copied += 1;
      total.groups += groups;
      total.damaged += damaged;
    } else total.present += 1;
    if (!(await isSame({ from, to }, session))) {
      total.present -= 1;
      different.push(id);
    }
    onSession(id);
  }
  return { ...total, different };
}

async function keyOf({ query, schema }: CopyDatabase, id: string): Promise<number | null> {
  const [row] = await query(`SELECT key FROM ${schema}sessions WHERE id = ?`, id);
  return row === undefined ? null : integer(row, "key");
}

async function copySession({ from, to }: Copy, session: Row): Promise<{ groups: number; damaged: number }> {
  const counts = { groups: 0, damaged: 0 };
  await to.query("BEGIN");
  try {
    const key = await to.insertSession(session);
    for (const table of TABLES) {
      for await (const rows of rowsOf(from, { table, session: integer(session, "key") })) {
        await insertRows(to, { table, session: key, rows });
        if (table !== "groups" && table !== "native") continue;
        counts.groups += rows.length;
        counts.damaged += rows.filter((row) => !isWhole(row)).length;
      }
    }
    await to.query("COMMIT");
    return counts;
  } catch (error) {
    await to.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function isSame({ from, to }: Copy, session: Row): Promise<boolean> {
  const key = await keyOf(to, text(session, "id"));
  if (key === null) return false;
  return (await digestOf(from, integer(session, "key"))) === (await digestOf(to, key));
}

/** Over everything that is copied, column by column; keys and positions are each log's own, secrets are one side's. */
async function digestOf(database: CopyDatabase, session: number): Promise<string> {
  const hash = createHash("sha256");
  const select = `SELECT id, settings, summary, last, agent, directory FROM ${database.schema}sessions WHERE key = ?`;
  for (const stored of await database.query(select, session)) {
    const row = { ...stored, settings: withoutSecrets(text(stored, "settings")).text };
    for (const name of ["id", "settings", "summary", "last", "agent", "directory"]) add(hash, row, name);
  }
  for (const table of TABLES) {
    for await (const rows of rowsOf(database, { table, session })) addAll(hash, rows, table);
  }
  return hash.digest("hex");
}

function addAll(hash: Hash, rows: readonly Row[], table: CopiedTable): void {
  for (const row of rows) for (const name of COPIED[table].columns) add(hash, row, name);
}

/** With its length before it, so that no two contents give the same bytes. */
function add(hash: Hash, row: Row, name: string): void {
  const value = valueIn(row, name);
  const bytes = value instanceof Uint8Array ? value : Buffer.from(value === null ? "null" : String(value), "utf8");
  hash.update(`${name} ${bytes.length} `).update(bytes);
}
