/** Reading the Postgres log: from an index to the first group that is wanted, then on, whatever the length. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { NativeLine } from "../../../protocol/resources.ts";
import { isWhole } from "../checksum.ts";
import type { Codec } from "../codec/codec.ts";
import type { EventGroup, EventLog } from "../contract.ts";
import { type Damage, damagedEvents, damagedNative } from "../damage.ts";
import { blob, damageIn, idIn, integer, type Row } from "../rows.ts";
import { checkpointIn, createdAtIn } from "../stored-records.ts";
import { count, ofSession, type Store } from "./store.ts";

/** A group is seldom smaller: so many rows are looked at for so many bytes. */
const LEAST_BYTES = 256;
const MOST_ROWS = 2_000;
/** Groups of native lines that are read at a time. */
const NATIVE_ROWS = 20;
const VERIFIED_AT_ONCE = 50;

/** The rows of a select up to a number of bytes; the first in any case. */
const upTo = (rows: string, order: string, maxBytes: string): string => `
  SELECT * FROM (
    SELECT *, sum(octet_length(body)) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) - octet_length(body) AS ahead
    FROM (${rows}) AS taken
  ) AS summed WHERE ahead < ${maxBytes} ORDER BY ${order}`;

const OF_SESSION = upTo(
  `SELECT position, first, last, body, checksum FROM franca.groups
   WHERE groups.session = session.key AND last > $2 ORDER BY last LIMIT $3`,
  "last",
  "$4",
);
const OF_ALL = upTo(
  `SELECT groups.position, groups.first, groups.last, groups.body, groups.checksum, sessions.id
   FROM franca.groups JOIN franca.sessions ON sessions.key = groups.session
   WHERE groups.position > $1 AND sessions.id IS NOT NULL ORDER BY groups.position LIMIT $2`,
  "position",
  "$3",
);
const NATIVE = `
  SELECT first, last, body, checksum FROM franca.native
  WHERE native.session = session.key AND last > $2 ORDER BY last LIMIT ${NATIVE_ROWS}`;
/** A few groups before a sequence, the nearest first: more than one may be damaged. */
const BEFORE = `
  SELECT position, first, last, body, checksum FROM franca.groups
  WHERE groups.session = session.key AND last < $2 ORDER BY last DESC LIMIT 20`;

type Reading = Pick<
  EventLog,
  "read" | "readAll" | "readNative" | "lastNativeLine" | "itemsBefore" | "checkpoint" | "verify"
>;

export function reading(store: Store, { version, codec }: { version: string; codec: Codec }): Reading {
  const { toGroup } = groupsOf(store, codec);
  const toGroups = async (rows: readonly Row[], session: (row: Row) => SessionId): Promise<EventGroup[]> => {
    count(store, { rows: rows.length, bytes: rows.reduce((bytes, row) => bytes + blob(row, "body").length, 0) });
    return Promise.all(rows.map((row) => toGroup(row, session(row))));
  };
  return {
    async read(id, { after, maxBytes }) {
      const rows = await ofSession(store, { id, select: OF_SESSION, values: [after, rowsFor(maxBytes), maxBytes] });
      return toGroups(rows, () => id);
    },
    async readAll({ after, maxBytes }) {
      return toGroups(await store.client.read(OF_ALL, after, rowsFor(maxBytes), maxBytes), idIn);
    },
    readNative: (id, query) => readNative(store, { id, ...query, decode: codec.decodeNative }),
    async lastNativeLine(id) {
      const select = "SELECT max(last) AS last FROM franca.native WHERE native.session = session.key";
      const [row = {}] = await ofSession(store, { id, select, values: [] });
      return integer(row, "last");
    },
    async itemsBefore(id, { before, limit }) {
      const select = `SELECT sequence FROM franca.items WHERE items.session = session.key AND number < $2
        ORDER BY number DESC LIMIT $3`;
      const rows = await ofSession(store, { id, select, values: [before, limit] });
      return rows.map((row) => integer(row, "sequence")).reverse();
    },
    async checkpoint(id) {
      const select =
        "SELECT sequence, state, checksum FROM franca.checkpoints AS c WHERE c.session = session.key AND version = $2";
      const [row] = await ofSession(store, { id, select, values: [version] });
      return row === undefined ? null : checkpointIn(row);
    },
    verify: () => verify(store),
  };
}

const rowsFor = (maxBytes: number): number => Math.min(MOST_ROWS, Math.max(1, Math.ceil(maxBytes / LEAST_BYTES)));

interface ToGroup {
  readonly toGroup: (row: Row, session: SessionId) => Promise<EventGroup>;
}

function groupsOf(store: Store, codec: Codec): ToGroup {
  const open = (row: Row, session: SessionId, bytes: Uint8Array): EventGroup =>
    codec.stored({
      session,
      first: integer(row, "first"),
      last: integer(row, "last"),
      position: integer(row, "position"),
      bytes,
    });
  /** With the time of the last readable event before it, or of the session's creation. */
  const damaged = async (row: Row, session: SessionId): Promise<Uint8Array> => {
    const rows = await ofSession(store, { id: session, select: BEFORE, values: [integer(row, "first")] });
    const before = rows.find(isWhole);
    const time = before === undefined ? undefined : open(before, session, blob(before, "body")).events().at(-1)?.time;
    return damagedEvents(damageIn(row, { session, kind: "events" }), time ?? (await createdAt(session)));
  };
  const createdAt = async (id: SessionId): Promise<string> => {
    const [row = {}] = await ofSession(store, { id, select: "SELECT session.summary", values: [] });
    return createdAtIn(row);
  };
  return {
    toGroup: async (row, session) => open(row, session, isWhole(row) ? blob(row, "body") : await damaged(row, session)),
  };
}

interface ReadNative {
  readonly id: SessionId;
  readonly after: number;
  readonly limit: number;
  readonly decode: Codec["decodeNative"];
}

async function readNative(
  store: Store,
  { id, after, limit, decode }: ReadNative,
): Promise<{ lines: NativeLine[]; hasMore: boolean }> {
  const lines: NativeLine[] = [];
  let from = after;
  while (lines.length <= limit) {
    const rows = await ofSession(store, { id, select: NATIVE, values: [from] });
    if (rows.length === 0) break;
    for (const row of rows) {
      const body = blob(row, "body");
      count(store, { rows: 1, bytes: body.length });
      const found = isWhole(row) ? decode(body) : [damagedNative(damageIn(row, { session: id, kind: "native lines" }))];
      for (const line of found) if (line.line > after) lines.push(line);
      from = integer(row, "last");
    }
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
      SELECT stored.${key} AS place, stored.first, stored.last, stored.body, stored.checksum, sessions.id
      FROM franca.${table} AS stored JOIN franca.sessions ON sessions.key = stored.session
      WHERE stored.${key} > $1 AND sessions.id IS NOT NULL ORDER BY stored.${key} LIMIT ${VERIFIED_AT_ONCE}`;
    const next = (place: number) => store.client.read(select, place);
    for (let rows = await next(0); rows.length > 0; rows = await next(integer(rows.at(-1) ?? {}, "place"))) {
      for (const row of rows) if (!isWhole(row)) yield damageIn(row, { session: idIn(row), kind });
    }
  }
}
