/** The Postgres log's small records: sessions and their owners, prompts, and the processes that were started. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { SessionFilter } from "../../../protocol/resources.ts";
import { isSameProcess } from "../../process-identity.ts";
import { textChecksum } from "../checksum.ts";
import type { EventLog, ListQuery, Owner, RecordPage } from "../contract.ts";
import { noSession, sessionExists, writtenElsewhere } from "../errors.ts";
import { idIn, integer, ownerIn, type Row, text, toRun } from "../rows.ts";
import { toPrompt, toRecord } from "../stored-records.ts";
import { listed } from "./append.ts";
import type { Queries, Value } from "./client.ts";
import { MAY_RUN } from "./placement.ts";
import { insertPrompt } from "./prompts.ts";
import { seal, settingsIn, unseal, withMissing } from "./settings.ts";
import { type Identity, ofSession, type Store } from "./store.ts";
import type { Vault } from "./vault.ts";

/** A session belongs to its home host, whether it is open there or not. `$1` is this host, `$2` its epoch. */
const HOSTED = `
  SELECT session.key, session.id, session.settings, session.summary, session.home, session.last, session.agent,
    session.directory, session.checksum, session.summary_checksum,
    session.owner_host, session.owner_pid, session.owner_started, session.owner_host = $1 AS here,
    session.owner_epoch = $2 AS current, host.url AS host_url, home.url AS home_url,
    coalesce(host.epoch = session.owner_epoch AND host.lease_until > clock_timestamp(), false) AS host_alive,
    coalesce(home.lease_until > clock_timestamp(), false) AS home_alive, ${MAY_RUN} AS may_run
  FROM franca.sessions AS session JOIN franca.hosts AS me ON me.id = $1
    LEFT JOIN franca.hosts AS host ON host.id = session.owner_host
    LEFT JOIN franca.hosts AS home ON home.id = session.home`;

type Records = Pick<
  EventLog,
  | "create"
  | "list"
  | "find"
  | "claim"
  | "release"
  | "owned"
  | "changeSettings"
  | "addPrompt"
  | "dropPrompt"
  | "queuedPrompts"
  | "sessionsWithQueue"
  | "putRun"
  | "endRun"
  | "runs"
>;

export const records = (store: Store, vault: Vault): Records => ({
  ...sessions(store, vault),
  ...prompts(store),
  ...runs(store),
});

type SessionRecords = Pick<Records, "create" | "list" | "find" | "claim" | "release" | "owned" | "changeSettings">;

function sessions(store: Store, vault: Vault): SessionRecords {
  return {
    async create({ id, settings, summary }, owner) {
      const { host, epoch } = store.holder();
      const { status, search } = listed(summary);
      const { agent, directory = "", placement = "" } = settings.create;
      const sealed = seal(vault, id, settings);
      const summarised = JSON.stringify(summary);
      const rows = await store.write(
        `INSERT INTO franca.sessions (id, settings, summary, last, agent, directory, status, search, home,
           owner_host, owner_epoch, owner_pid, owner_started, placement, checksum, summary_checksum)
         VALUES ($1, $2, $3, 0, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT (id) DO NOTHING RETURNING key`,
        ...[id, sealed.text, summarised, agent, directory, status, search, host, epoch],
        ...[owner.pid, owner.started, placement, textChecksum(id, sealed.text), textChecksum(summarised)],
      );
      if (rows.length === 0) throw sessionExists(id);
      if (sealed.values !== null) vault.put(id, sealed.values);
    },
    list: (query) => page(store, query),
    async find(id) {
      const { host, epoch } = store.identity();
      const [row] = await store.client.read(`${HOSTED} WHERE session.id = $3`, host, epoch, id);
      if (row === undefined) return null;
      const record = toRecord(row);
      const settings = record.settings.damaged === true ? record.settings : unseal(vault, id, settingsIn(row));
      return { ...record, settings, owner: hostedOwner(row), home: text(row, "home") };
    },
    claim: (id, owner, isDead) => claim(store, { id, owner, isDead, vault }),
    async release(id, owner) {
      const { host, epoch } = store.identity();
      await store.write(
        `UPDATE franca.sessions SET owner_host = NULL, owner_epoch = NULL, owner_pid = NULL, owner_started = NULL
         WHERE id = $1 AND owner_host = $2 AND owner_epoch = $3 AND owner_pid = $4 AND owner_started = $5`,
        ...[id, host, epoch, owner.pid, owner.started],
      );
    },
    async owned() {
      const { host, epoch } = store.identity();
      const where = "WHERE session.owner_host IS NOT NULL AND session.id IS NOT NULL";
      const rows = await store.client.read(`${HOSTED} ${where}`, host, epoch);
      // A session that waits for its host is not for us to recover: it counts as owned.
      return rows.map((row) => ({ id: idIn(row), owner: waiting(hostedOwner(row) ?? GONE, row) }));
    },
    async changeSettings(id, settings) {
      const { agent, directory = "", placement = "" } = settings.create;
      const update = `UPDATE franca.sessions SET settings = $2, agent = $3, directory = $4, placement = $5,
        checksum = $6 WHERE id = $1 RETURNING key`;
      const sealed = seal(vault, id, settings);
      const sum = textChecksum(id, sealed.text);
      const rows = await store.write(update, id, sealed.text, agent, directory, placement, sum);
      if (rows.length === 0) throw noSession(id);
      if (sealed.values !== null) vault.put(id, sealed.values);
    },
  };
}

/** A process of this host that is over: no process has this pid. */
const GONE: Owner = { pid: 0, started: "" };

/** A process of this host; one of an earlier life of this host; or one of another host. */
function hostedOwner(row: Row): Owner | null {
  const owner = ownerIn(row, "owner");
  if (owner === null) return null;
  if (row.here === true) return row.current === true ? owner : GONE;
  const host = { id: text(row, "owner_host"), url: text(row, "host_url"), alive: row.host_alive === true };
  return { ...owner, host };
}

const waiting = (owner: Owner, row: Row): Owner =>
  owner.host === undefined || row.may_run === true ? owner : { ...owner, host: { ...owner.host, alive: true } };

interface Claim {
  readonly id: SessionId;
  readonly owner: Owner;
  readonly isDead: (other: Owner) => boolean;
  readonly vault: Vault;
}

/** Of another host, only what is left by one that is gone or drained, and only where this host may run it. */
async function claim(store: Store, { id, owner, isDead, vault }: Claim): Promise<Owner> {
  const { host, epoch } = store.holder();
  let isTaken = false;
  const claimed = await store.transaction(async ({ query }) => {
    const [row] = await query(`${HOSTED} WHERE session.id = $3 FOR UPDATE OF session`, host, epoch, id);
    if (row === undefined) throw noSession(id);
    const current = hostedOwner(row) ?? homeOwner(row);
    const isFree = current.host === undefined ? isOurs(current, owner) || isDead(current) : row.may_run === true;
    if (!isFree) return current;
    const update = `UPDATE franca.sessions SET home = $2, owner_host = $2, owner_epoch = $3, owner_pid = $4,
      owner_started = $5, settings = $6, checksum = $7 WHERE id = $1`;
    const { settings, checksum } = claimedSettings(vault, id, row);
    await query(update, id, host, epoch, owner.pid, owner.started, settings, checksum);
    isTaken = !["", host].includes(text(row, "home"));
    return owner;
  });
  if (isTaken) store.counts.takeovers += 1;
  return claimed;
}

/** Damaged settings are left as they are, and stay damaged. */
function claimedSettings(vault: Vault, id: SessionId, row: Row): { settings: string; checksum: number | null } {
  const settings = text(row, "settings");
  const isSummed = row.checksum !== null && row.checksum !== undefined;
  if (toRecord(row).settings.damaged === true)
    return { settings, checksum: isSummed ? integer(row, "checksum") : null };
  const claimed = withMissing(vault, id, row);
  return { settings: claimed, checksum: textChecksum(id, claimed) };
}

const isOurs = (current: Owner, owner: Owner): boolean => current.host === undefined && isSameProcess(current, owner);

/** A session that is closed: the host that it is at home on is asked. */
function homeOwner(row: Row): Owner {
  const id = text(row, "home");
  return { ...GONE, host: { id, url: text(row, "home_url"), alive: row.home_alive === true } };
}

interface Writing extends Pick<Store, "counts"> {
  readonly holder: Identity;
}

/** The key of a session of this host, which no other host takes over before the commit. */
async function ownKey(
  { query }: Queries,
  id: SessionId,
  { holder: { host, epoch }, counts }: Writing,
): Promise<number> {
  const [row] = await query(
    `SELECT key, coalesce(owner_host = $2 AND owner_epoch = $3, false) AS own FROM franca.sessions WHERE id = $1 FOR SHARE`,
    ...[id, host, epoch],
  );
  if (row === undefined) throw noSession(id);
  if (row.own !== true) {
    counts.fencedWrites += 1;
    throw writtenElsewhere(id);
  }
  return integer(row, "key");
}

/** Sessions that this host may run and that have prompts waiting, or no host yet; the oldest first. */
const RUNNABLE = `
  SELECT session.id FROM franca.sessions AS session JOIN franca.hosts AS me ON me.id = $1
    LEFT JOIN franca.hosts AS home ON home.id = session.home
  WHERE session.id IS NOT NULL AND ${MAY_RUN} AND (session.home = '' OR session.key IN (
    SELECT prompt.session FROM franca.prompts AS prompt WHERE prompt.status = 'queued'))
  ORDER BY session.key`;

function prompts(store: Store): Pick<Records, "addPrompt" | "dropPrompt" | "queuedPrompts" | "sessionsWithQueue"> {
  return {
    async addPrompt(id, prompt) {
      const writer = store.holder();
      return store.transaction(async (queries) => {
        return insertPrompt(queries, {
          key: await ownKey(queries, id, { holder: writer, counts: store.counts }),
          ...prompt,
        });
      });
    },
    async dropPrompt(id, promptId) {
      const writer = store.holder();
      await store.transaction(async (queries) => {
        const key = await ownKey(queries, id, { holder: writer, counts: store.counts });
        await queries.query("DELETE FROM franca.prompts WHERE session = $1 AND id = $2", key, promptId);
      });
    },
    async queuedPrompts(id) {
      const select = `SELECT prompt.* FROM franca.prompts AS prompt
        WHERE prompt.session = session.key AND status = 'queued' ORDER BY ordinal`;
      return (await ofSession(store, { id, select, values: [] })).map(toPrompt);
    },
    async sessionsWithQueue() {
      return (await store.client.read(RUNNABLE, store.identity().host)).map(idIn);
    },
  };
}

/** Processes of this host only: others look after theirs. */
function runs(store: Store): Pick<Records, "putRun" | "endRun" | "runs"> {
  return {
    async putRun({ runId, session, owner, leader }) {
      await store.write(
        `INSERT INTO franca.runs (id, host, session, owner_pid, owner_started, leader_pid, leader_started)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (id) DO UPDATE SET leader_pid = excluded.leader_pid, leader_started = excluded.leader_started`,
        ...[runId, store.identity().host, session, owner.pid, owner.started],
        ...[leader?.pid ?? null, leader?.started ?? null],
      );
    },
    async endRun(runId) {
      await store.write("DELETE FROM franca.runs WHERE id = $1", runId);
    },
    async runs() {
      const rows = await store.client.read("SELECT * FROM franca.runs WHERE host = $1", store.identity().host);
      return rows.map(toRun);
    },
  };
}

async function page(store: Store, { before, limit, ...filter }: ListQuery): Promise<RecordPage> {
  const { host, epoch } = store.identity();
  const values: Value[] = [host, epoch, before ?? Number.MAX_SAFE_INTEGER, limit + 1];
  const where = conditions(filter).map(({ sql, value }) => `AND ${sql.replace("?", `$${values.push(value)}`)}`);
  const select = `${HOSTED} WHERE session.key < $3 AND session.id IS NOT NULL ${where.join(" ")}`;
  const rows = await store.client.read(`${select} ORDER BY session.key DESC LIMIT $4`, ...values);
  const last = rows[limit - 1];
  const next = rows.length > limit && last !== undefined ? integer(last, "key") : null;
  const found = rows.slice(0, limit).map((row) => ({ ...toRecord(row), owner: hostedOwner(row) }));
  return { records: found, next };
}

/** One more condition per field that was given. */
function conditions({ status, agent, directory, q }: SessionFilter): { sql: string; value: string }[] {
  const given = [
    { sql: "session.agent = ?", value: agent },
    { sql: "session.directory = ?", value: directory },
    { sql: "session.status = ?", value: status },
    { sql: "strpos(session.search, ?) > 0", value: q?.toLowerCase() },
  ];
  return given.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
}
