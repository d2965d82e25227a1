/** Reading the SQLite log: from an index to the first group that is wanted, then on. Work does not depend on length. */
import type { SessionId } from "../../protocol/ids.ts";
import type { NativeLine } from "../../protocol/resources.ts";
import type { Codec } from "./codec/codec.ts";
import type { Checkpoint, EventGroup, EventLog, ReadQuery } from "./contract.ts";
import { blob, integer, type Row, text } from "./database.ts";
import { idIn, type Store } from "./sqlite-store.ts";

const OF_SESSION = `
  SELECT position, first, last, body FROM groups WHERE session = ? AND last > ? ORDER BY last`;
const OF_ALL = `
  SELECT groups.position, groups.first, groups.last, groups.body, sessions.id
  FROM groups JOIN sessions ON sessions.key = groups.session
  WHERE groups.position > ? AND sessions.id IS NOT NULL ORDER BY groups.position`;
const NATIVE = "SELECT first, last, body FROM native WHERE session = ? AND last > ? ORDER BY last";
const ITEMS = "SELECT sequence FROM items WHERE session = ? AND number < ? ORDER BY number DESC LIMIT ?";

type Reading = Pick<
  EventLog,
  "read" | "readAll" | "readNative" | "lastNativeLine" | "itemsBefore" | "checkpoint" | "position"
>;

export function reading(store: Store, { version, codec }: { version: string; codec: Codec }): Reading {
  const toGroup = (row: Row, session: SessionId): EventGroup =>
    codec.stored({
      session,
      first: integer(row, "first"),
      last: integer(row, "last"),
      position: integer(row, "position"),
      bytes: blob(row, "body"),
    });
  return {
    async read(id, { after, maxBytes }) {
      const key = store.keyOf(id);
      const rows = store.guard(() => take(store, { rows: store.prepare(OF_SESSION).iterate(key, after), maxBytes }));
      return rows.map((row) => toGroup(row, id));
    },
    async readAll({ after, maxBytes }: ReadQuery) {
      const rows = store.guard(() => take(store, { rows: store.prepare(OF_ALL).iterate(after), maxBytes }));
      return rows.map((row) => toGroup(row, idIn(row)));
    },
    async readNative(id, { after, limit }) {
      const key = store.keyOf(id);
      const rows = store.prepare(NATIVE).iterate(key, after);
      return store.guard(() => takeNative(store, { rows, after, limit, decode: codec.decodeNative }));
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
      const select = "SELECT sequence, state FROM checkpoints WHERE session = ? AND version = ?";
      const row = store.guard(() => store.prepare(select).get(key, version));
      return row === undefined ? null : { sequence: integer(row, "sequence"), state: text(row, "state") };
    },
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

interface TakeNative {
  readonly rows: Iterable<Row>;
  readonly after: number;
  readonly limit: number;
  readonly decode: Codec["decodeNative"];
}

function takeNative(
  store: Store,
  { rows, after, limit, decode }: TakeNative,
): { lines: NativeLine[]; hasMore: boolean } {
  const lines: NativeLine[] = [];
  for (const row of rows) {
    const body = blob(row, "body");
    count(store, { rows: 1, bytes: body.length });
    for (const line of decode(body)) if (line.line > after) lines.push(line);
    if (lines.length > limit) break;
  }
  return { lines: lines.slice(0, limit), hasMore: lines.length > limit };
}

function count(store: Store, { rows, bytes }: { rows: number; bytes: number }): void {
  store.work.rows += rows;
  store.work.bytes += bytes;
}
