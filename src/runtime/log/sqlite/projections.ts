/** What projections store, in SQLite: checkpoints to continue from, and records by scope in the order they came. */
import { setImmediate as nextTick } from "node:timers/promises";
import type { Projections, RecordChange, RecordsQuery } from "../contract.ts";
import { blob, integer, type Row, text, toProjectionCheckpoint, toProjectionRecord } from "../rows.ts";
import type { Store } from "./store.ts";

const OF_PROJECTION = "session = ? AND name = ?";
const OF_SCOPE = `${OF_PROJECTION} AND scope = ?`;
const CHECKPOINT = `
  SELECT sequence, state, known FROM projections
  WHERE ${OF_PROJECTION} AND version = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1`;
const LATEST = `SELECT sequence, version FROM projections WHERE ${OF_PROJECTION} ORDER BY sequence DESC LIMIT 1`;
const PUT = `
  INSERT INTO records (session, name, scope, id, body) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (session, name, scope, id) DO UPDATE SET body = excluded.body`;
const AFTER = `SELECT key, id, body FROM records WHERE ${OF_SCOPE} AND key > ? ORDER BY key LIMIT ?`;
const BEFORE = `SELECT key, id, body FROM records WHERE ${OF_SCOPE} AND key < ? ORDER BY key DESC LIMIT ?`;
/** What is forgotten goes bit by bit, so that others are served in between. */
const CLEARED_ROWS = 200;

export function projections(store: Store, { version }: { version: string }): Projections {
  const { prepare, guard, transaction } = store;
  return {
    async checkpoint(id, { name, upTo }) {
      const row = guard(() => prepare(CHECKPOINT).get(store.keyOf(id), name, version, upTo));
      if (row === undefined) return null;
      count(store, [row]);
      return toProjectionCheckpoint(row);
    },
    async keep(id, name, { after, checkpoint, records }) {
      return transaction(() => {
        const key = store.keyOf(id);
        const latest = prepare(LATEST).get(key, name);
        // The fence: one that does not continue from the stored checkpoint would mix two renderings.
        if (after !== (latest === undefined ? 0 : integer(latest, "sequence"))) return false;
        if (latest !== undefined && text(latest, "version") !== version) return false;
        const session = prepare("SELECT last FROM sessions WHERE key = ?").get(key) ?? {};
        if (checkpoint.sequence > integer(session, "last")) return false;
        for (const change of records) apply(store, { key, name, change });
        prepare(`UPDATE projections SET known = NULL WHERE ${OF_PROJECTION} AND sequence = ?`).run(key, name, after);
        const columns = "(session, name, version, sequence, state, known)";
        const { sequence, state, known } = checkpoint;
        const insert = `INSERT OR REPLACE INTO projections ${columns} VALUES (?, ?, ?, ?, ?, ?)`;
        prepare(insert).run(key, name, version, sequence, state, known);
        return true;
      });
    },
    async clear(id, name) {
      const key = store.keyOf(id);
      // Checkpoints first: what a crash leaves is then known to be worth nothing.
      for (const table of ["projections", "records"]) {
        const some = `SELECT key FROM ${table} WHERE ${OF_PROJECTION} LIMIT ${CLEARED_ROWS}`;
        const statement = `DELETE FROM ${table} WHERE key IN (${some})`;
        while (Number(guard(() => prepare(statement).run(key, name)).changes) > 0) await nextTick();
      }
    },
    async record(session, { name, scope, id }) {
      const select = `SELECT key, id, body FROM records WHERE ${OF_SCOPE} AND id = ?`;
      const row = guard(() => prepare(select).get(store.keyOf(session), name, scope, id));
      if (row === undefined) return null;
      count(store, [row]);
      return toProjectionRecord(row);
    },
    async records(session, query) {
      const rows = guard(() => select(store, { key: store.keyOf(session), query }));
      count(store, rows);
      return rows.map(toProjectionRecord);
    },
  };
}

function apply(store: Store, { key, name, change }: { key: number; name: string; change: RecordChange }): void {
  const { scope } = change;
  if (change.type === "put") store.prepare(PUT).run(key, name, scope, change.id, change.body);
  else if (change.type === "clear") store.prepare(`DELETE FROM records WHERE ${OF_SCOPE}`).run(key, name, scope);
  else store.prepare(`DELETE FROM records WHERE ${OF_SCOPE} AND id = ?`).run(key, name, scope, change.id);
}

function select(store: Store, { key, query }: { key: number; query: RecordsQuery }): Row[] {
  const { name, scope, from, limit } = query;
  if ("after" in from) return store.prepare(AFTER).all(key, name, scope, from.after, limit);
  return store.prepare(BEFORE).all(key, name, scope, from.before, limit).reverse();
}

function count(store: Store, rows: readonly Row[]): void {
  store.work.rows += rows.length;
  for (const row of rows) store.work.bytes += text(row, "body").length + blob(row, "state").length;
}
