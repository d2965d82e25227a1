/** What projections store, in Postgres: checkpoints to continue from, and records by scope in the order they came. */
import type { Projections, RecordChange } from "../contract.ts";
import { noSession } from "../errors.ts";
import { blob, integer, type Row, text, toProjectionCheckpoint, toProjectionRecord } from "../rows.ts";
import type { Queries } from "./client.ts";
import { count, keyOf, ofSession, type Store } from "./store.ts";

const CHECKPOINT = `
  SELECT sequence, state, known FROM franca.projections AS stored
  WHERE stored.session = session.key AND name = $2 AND version = $3 AND sequence <= $4
  ORDER BY sequence DESC LIMIT 1`;
const LATEST = `
  SELECT sequence, version FROM franca.projections WHERE session = $1 AND name = $2 ORDER BY sequence DESC LIMIT 1`;
const PUT = `
  INSERT INTO franca.records (session, name, scope, id, body) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (session, name, scope, id) DO UPDATE SET body = excluded.body`;
const KEEP = `
  INSERT INTO franca.projections (session, name, version, sequence, state, known) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (session, name, sequence) DO UPDATE
  SET version = excluded.version, state = excluded.state, known = excluded.known`;
const OF_SCOPE = `
  SELECT key, id, body FROM franca.records AS record WHERE record.session = session.key AND name = $2 AND scope = $3`;
/** What is forgotten goes bit by bit, so that others are served in between. */
const CLEARED_ROWS = 1_000;

export function projections(store: Store, { version }: { version: string }): Projections {
  return {
    async checkpoint(id, { name, upTo }) {
      const [row] = await ofSession(store, { id, select: CHECKPOINT, values: [name, version, upTo] });
      if (row === undefined) return null;
      counted(store, [row]);
      return toProjectionCheckpoint(row);
    },
    async keep(id, name, { after, checkpoint, records }) {
      return store.transaction(async ({ query }) => {
        const [session] = await query("SELECT key, last FROM franca.sessions WHERE id = $1 FOR NO KEY UPDATE", id);
        if (session === undefined) throw noSession(id);
        const key = integer(session, "key");
        const [latest] = await query(LATEST, key, name);
        // The fence: one that does not continue from the stored checkpoint would mix two renderings.
        if (after !== (latest === undefined ? 0 : integer(latest, "sequence"))) return false;
        if (latest !== undefined && text(latest, "version") !== version) return false;
        if (checkpoint.sequence > integer(session, "last")) return false;
        // Sent one after the other without waiting: they are done in this order.
        const changes = records.map((change) => apply({ query }, { key, name, change }));
        const forget = "UPDATE franca.projections SET known = NULL WHERE session = $1 AND name = $2 AND sequence = $3";
        const { sequence, state, known } = checkpoint;
        await Promise.all([
          ...changes,
          query(forget, key, name, after),
          query(KEEP, key, name, version, sequence, state, known),
        ]);
        return true;
      });
    },
    async clear(id, name) {
      const key = await keyOf({ query: store.client.read }, id);
      // Checkpoints first: what a crash leaves is then known to be worth nothing.
      for (const table of ["projections", "records"]) {
        const some = `SELECT key FROM franca.${table} WHERE session = $1 AND name = $2 LIMIT ${CLEARED_ROWS}`;
        const statement = `DELETE FROM franca.${table} WHERE key IN (${some}) RETURNING key`;
        while ((await store.write(statement, key, name)).length > 0);
      }
    },
    async record(session, { name, scope, id }) {
      const select = `${OF_SCOPE} AND id = $4`;
      const [row] = await ofSession(store, { id: session, select, values: [name, scope, id] });
      if (row === undefined) return null;
      counted(store, [row]);
      return toProjectionRecord(row);
    },
    async records(id, { name, scope, from, limit }) {
      const isAfter = "after" in from;
      const select = `${OF_SCOPE} AND ${isAfter ? "key > $4 ORDER BY key" : "key < $4 ORDER BY key DESC"} LIMIT $5`;
      const values = [name, scope, isAfter ? from.after : from.before, limit];
      const rows = [...(await ofSession(store, { id, select, values }))];
      if (!isAfter) rows.reverse();
      counted(store, rows);
      return rows.map(toProjectionRecord);
    },
  };
}

interface Applied {
  readonly key: number;
  readonly name: string;
  readonly change: RecordChange;
}

function apply({ query }: Queries, { key, name, change }: Applied): Promise<readonly Row[]> {
  const { scope } = change;
  if (change.type === "put") return query(PUT, key, name, scope, change.id, change.body);
  const remove = "DELETE FROM franca.records WHERE session = $1 AND name = $2 AND scope = $3";
  if (change.type === "clear") return query(remove, key, name, scope);
  return query(`${remove} AND id = $4`, key, name, scope, change.id);
}

function counted(store: Store, rows: readonly Row[]): void {
  const bytes = rows.reduce((sum, row) => sum + text(row, "body").length + blob(row, "state").length, 0);
  count(store, { rows: rows.length, bytes });
}
