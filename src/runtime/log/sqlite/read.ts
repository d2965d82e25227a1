/** Reading the SQLite log: from an index to the first group that is wanted, then on. Work does not depend on length. */
import { setImmediate as nextTick } from "node:timers/promises";
import type { SessionId } from "../../../protocol/ids.ts";
import type { NativeLine } from "../../../protocol/resources.ts";
import { isWhole } from "../checksum.ts";
import type { Codec } from "../codec/codec.ts";
import type { Checkpoint, EventGroup, EventLog, ReadQuery } from "../contract.ts";
import { type Damage, damagedEvents, damagedNative } from "../damage.ts";
import { blob, damageIn, idIn, integer, type Row } from "../rows.ts";
import { checkpointIn, createdAtIn } from "../stored-records.ts";
import type { Store } from "./store.ts";
import { suspect } from "./suspicion.ts";

const OF_SESSION = `
  SELECT position, first, last, body, checksum FROM groups WHERE session = ? AND last > ? ORDER BY last`;
const OF_ALL = `
  SELECT groups.position, groups.first, groups.last, groups.body, groups.checksum, sessions.id
  FROM groups JOIN sessions ON sessions.key = groups.session
  WHERE groups.position > ? AND sessions.id IS NOT NULL ORDER BY groups.position`;
const NATIVE = "SELECT first, last, body, checksum FROM native WHERE session = ? AND last > ? ORDER BY last";
const ITEMS = "SELECT sequence FROM items WHERE session = ? AND number < ? ORDER BY number DESC LIMIT ?";

/** A few groups before a sequence, the nearest first: more than one may be damaged. */
const BEFORE = `
  SELECT position, first, last, body, checksum FROM groups WHERE session = ? AND last < ? ORDER BY last DESC LIMIT 20`;
const VERIFIED_AT_ONCE = 50;

type Reading = Pick<
  EventLog,
  "read" | "readAll" | "readNative" | "lastNativeLine" | "itemsBefore" | "checkpoint" | "position" | "verify"
>;

export function reading(store: Store, { version, codec }: { version: string; codec: Codec }): Reading {
  const toGroup = (row: Row, session: SessionId): EventGroup =>
    codec.stored({
      session,
      first: integer(row, "first"),
      last: integer(row, "last"),
      position: integer(row, "position"),
      bytes: isWhole(row) ? blob(row, "body") : damagedGroup(row, session),
    });
  /** With the time of the last readable event before it, or of the session's creation. */
  const damagedGroup = (row: Row, session: SessionId): Uint8Array => {
    const key = store.keyOf(session);
    const before = store.guard(() => store.prepare(BEFORE).all(key, integer(row, "first"))).find(isWhole);
    const time = before === undefined ? undefined : toGroup(before, session).events().at(-1)?.time;
    return damagedEvents(damageIn(row, { session, kind: "events" }), time ?? createdAt(key));
  };
  const createdAt = (key: number): string => {
    const row = store.guard(() => store.prepare("SELECT summary FROM sessions WHERE key = ?").get(key));
    return createdAtIn(row ?? {});
  };
  return {
    async read(id, { after, maxBytes }) {
      const key = store.keyOf(id);
      const rows = store.guard(() => take(store, { rows: store.prepare(OF_SESSION).iterate(key, after), maxBytes }));
      return withoutGaps(store, { rows, after }).map((row) => toGroup(row, id));
    },
    async readAll({ after, maxBytes }: ReadQuery) {
      const rows = store.guard(() => take(store, { rows: store.prepare(OF_ALL).iterate(after), maxBytes }));
      return rows.map((row) => toGroup(row, idIn(row)));
    },
    async readNative(id, { after, limit }) {
      const key = store.keyOf(id);
      const rows = store.prepare(NATIVE).iterate(key, after);
      return store.guard(() => takeNative(store, { id, rows, after, limit, decode: codec.decodeNative }));
    },
    async lastNativeLine(id) {
      const key = store.keyOf(id);
      const row = store.guard(() => store.prepare("SELECT max(last) AS last FROM native WHERE session = ?").get(key));
      return row === undefined ? 0 : integer(row, "last");
    },
    async itemsBefore(id, { before, limit }) {
      const key = store.keyOf(id);
      const rows = store.guard(() => store.prepare(ITEMS).all(key, before, limit));
      return rows.map((row) => integer(row, "sequence")).reverse();
    },
    async checkpoint(id): Promise<Checkpoint | null> {
      const key = store.keyOf(id);
      const select = "SELECT sequence, state, checksum FROM checkpoints WHERE session = ? AND version = ?";
      const row = store.guard(() => store.prepare(select).get(key, version));
      return row === undefined ? null : checkpointIn(row);
    },
    verify: () => verify(store),
    position() {
      // Not the highest there is: a deleted group's position is never given again.
      const select = "SELECT seq FROM sqlite_sequence WHERE name = 'groups'";
      const row = store.guard(() => store.prepare(select).get());
      return row === undefined ? 0 : integer(row, "seq");
    },
  };
}

function take(store: Store, { rows, maxBytes }: { rows: Iterable<Row>; maxBytes: number }): Row[] {
  const taken: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    taken.push(row);
    bytes += blob(row, "body").length;
    if (bytes >= maxBytes) break;
  }
  count(store, { rows: taken.length, bytes });
  return taken;
}

/** Sequences have no gap: what an index or a table has lost is a damaged row. */
function withoutGaps({ file }: Store, { rows, after }: { rows: readonly Row[]; after: number }): Row[] {
  let next = after + 1;
  return rows.flatMap((row) => {
    const missing = { ...row, first: next, last: integer(row, "first") - 1, body: null };
    next = integer(row, "last") + 1;
    if (missing.last < missing.first) return [row];
    suspect(file);
    return [missing, row];
  });
}

interface TakeNative {
  readonly id: SessionId;
  readonly rows: Iterable<Row>;
  readonly after: number;
  readonly limit: number;
  readonly decode: Codec["decodeNative"];
}

function takeNative(
  store: Store,
  { id, rows, after, limit, decode }: TakeNative,
): { lines: NativeLine[]; hasMore: boolean } {
  const lines: NativeLine[] = [];
  for (const row of rows) {
    const body = blob(row, "body");
    count(store, { rows: 1, bytes: body.length });
    const found = isWhole(row) ? decode(body) : [damagedNative(damageIn(row, { session: id, kind: "native lines" }))];
    for (const line of found) if (line.line > after) lines.push(line);
    if (lines.length > limit) break;
  }
  return { lines: lines.slice(0, limit), hasMore: lines.length > limit };
}

/** Everything that is stored, checked a little at a time. */
async function* verify(store: Store): AsyncGenerator<Damage> {
  for (const [table, key, kind] of [
    ["groups", "position", "events"],
    ["native", "key", "native lines"],
  ] as const) {
    const select = `
      SELECT ${table}.${key} AS place, first, ${table}.last AS last, body, ${table}.checksum, sessions.id
      FROM ${table} JOIN sessions ON sessions.key = ${table}.session
      WHERE ${table}.${key} > ? AND sessions.id IS NOT NULL ORDER BY ${table}.${key} LIMIT ${VERIFIED_AT_ONCE}`;
    const next = (place: number) => store.guard(() => store.prepare(select).all(place));
    for (let rows = next(0); rows.length > 0; rows = next(integer(rows.at(-1) ?? {}, "place"))) {
      for (const row of rows) if (!isWhole(row)) yield damageIn(row, { session: idIn(row), kind });
      await nextTick();
    }
  }
}

function count(store: Store, { rows, bytes }: { rows: number; bytes: number }): void {
  store.work.rows += rows;
  store.work.bytes += bytes;
}
