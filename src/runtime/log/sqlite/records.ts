/** The SQLite log's small records: sessions and their owners, prompts, and the processes that were started. */

import type { SessionFilter } from "../../../protocol/resources.ts";
import { isSameProcess } from "../../process-identity.ts";
import { promptChecksum, textChecksum } from "../checksum.ts";
import type { EventLog, ListQuery, RecordPage, SessionRecord } from "../contract.ts";
import { noSession, sessionExists } from "../errors.ts";
import { idIn, integer, ownerIn, type Row, toRun } from "../rows.ts";
import { toPrompt, toRecord } from "../stored-records.ts";
import type { Store } from "./store.ts";

const COLUMNS = "id, settings, summary, last, owner_pid, owner_started, agent, directory, checksum, summary_checksum";
const RECORD = `SELECT ${COLUMNS} FROM sessions`;
const PLACED = `SELECT key, ${COLUMNS} FROM sessions`;
const QUEUED = "SELECT * FROM prompts WHERE session = ? AND status = 'queued' ORDER BY ordinal";

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

export const records = (store: Store): Records => ({ ...sessions(store), ...prompts(store), ...runs(store) });

type SessionRecords = Pick<Records, "create" | "list" | "find" | "claim" | "release" | "owned" | "changeSettings">;

function sessions(store: Store): SessionRecords {
  const { prepare, guard, transaction } = store;
  return {
    async create({ id, settings, summary }, owner) {
      const stored = JSON.stringify(settings);
      const summarised = JSON.stringify(summary);
      const { changes } = transaction(() =>
        prepare(`INSERT OR IGNORE INTO sessions (${COLUMNS}) VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`).run(
          id,
          stored,
          summarised,
          owner.pid,
          owner.started,
          settings.create.agent,
          settings.create.directory ?? "",
          textChecksum(id, stored),
          textChecksum(summarised),
        ),
      );
      if (Number(changes) === 0) throw sessionExists(id);
    },
    list: async (query) => page(store, query),
    async find(id) {
      const row = guard(() => prepare(`${RECORD} WHERE id = ?`).get(id));
      return row === undefined ? null : recordOf(row);
    },
    claim: async (id, owner, isDead) =>
      transaction(() => {
        const row = prepare("SELECT owner_pid, owner_started FROM sessions WHERE id = ?").get(id);
        if (row === undefined) throw noSession(id);
        const current = ownerIn(row, "owner");
        if (current !== null && !isSameProcess(current, owner) && !isDead(current)) return current;
        const update = "UPDATE sessions SET owner_pid = ?, owner_started = ? WHERE id = ?";
        prepare(update).run(owner.pid, owner.started, id);
        return owner;
      }),
    async release(id, owner) {
      const update = "UPDATE sessions SET owner_pid = NULL, owner_started = NULL WHERE id = ?";
      guard(() => prepare(`${update} AND owner_pid = ? AND owner_started = ?`).run(id, owner.pid, owner.started));
    },
    async owned() {
      const select = "SELECT id, owner_pid, owner_started FROM sessions WHERE owner_pid IS NOT NULL";
      const rows = guard(() => prepare(`${select} AND id IS NOT NULL`).all());
      return rows.map((row) => ({ id: idIn(row), owner: ownerIn(row, "owner") ?? { pid: 0, started: "" } }));
    },
    async changeSettings(id, settings) {
      const key = store.keyOf(id);
      const { agent, directory = "" } = settings.create;
      const stored = JSON.stringify(settings);
      const update = "UPDATE sessions SET settings = ?, checksum = ?, agent = ?, directory = ? WHERE key = ?";
      guard(() => prepare(update).run(stored, textChecksum(id, stored), agent, directory, key));
    },
  };
}

function prompts(store: Store): Pick<Records, "addPrompt" | "dropPrompt" | "queuedPrompts" | "sessionsWithQueue"> {
  const { prepare, guard, transaction } = store;
  return {
    async addPrompt(id, { prompt, delivery, idempotencyKey, sequence }) {
      const key = store.keyOf(id);
      return transaction(() => {
        const seen =
          idempotencyKey === null
            ? undefined
            : prepare("SELECT * FROM prompts WHERE session = ? AND idempotency_key = ?").get(key, idempotencyKey);
        if (seen !== undefined) return { stored: toPrompt(seen), fresh: false };
        const body = JSON.stringify(prompt);
        const columns = "(session, id, idempotency_key, body, delivery, status, sequence, checksum)";
        prepare(`INSERT INTO prompts ${columns} VALUES (?, ?, ?, ?, ?, 'queued', ?, ?)`).run(
          key,
          prompt.prompt_id,
          idempotencyKey,
          body,
          delivery,
          sequence,
          promptChecksum({ id: prompt.prompt_id, idempotencyKey, body, delivery }),
        );
        return { stored: { prompt, delivery, idempotencyKey, sequence, status: "queued" }, fresh: true };
      });
    },
    async dropPrompt(id, promptId) {
      const key = store.keyOf(id);
      guard(() => prepare("DELETE FROM prompts WHERE session = ? AND id = ?").run(key, promptId));
    },
    async queuedPrompts(id) {
      const key = store.keyOf(id);
      return guard(() => prepare(QUEUED).all(key)).map(toPrompt);
    },
    async sessionsWithQueue() {
      const select = "SELECT DISTINCT sessions.id FROM prompts JOIN sessions ON sessions.key = prompts.session";
      const where = "WHERE prompts.status = 'queued' AND sessions.id IS NOT NULL";
      return guard(() => prepare(`${select} ${where}`).all()).map(idIn);
    },
  };
}

function runs(store: Store): Pick<Records, "putRun" | "endRun" | "runs"> {
  const { prepare, guard } = store;
  return {
    async putRun({ runId, session, owner, leader }) {
      guard(() =>
        prepare("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)").run(
          runId,
          session,
          owner.pid,
          owner.started,
          leader?.pid ?? null,
          leader?.started ?? null,
        ),
      );
    },
    async endRun(runId) {
      guard(() => prepare("DELETE FROM runs WHERE id = ?").run(runId));
    },
    async runs() {
      return guard(() => prepare("SELECT * FROM runs").all()).map(toRun);
    },
  };
}

function page({ prepare, guard, work }: Store, { before, limit, ...filter }: ListQuery): RecordPage {
  const { where, values } = conditions(filter);
  const sql = `${PLACED} WHERE key < ? AND id IS NOT NULL ${where} ORDER BY key DESC LIMIT ?`;
  const rows = guard(() => prepare(sql).all(before ?? Number.MAX_SAFE_INTEGER, ...values, limit + 1));
  work.rows += rows.length;
  const last = rows[limit - 1];
  const next = rows.length > limit && last !== undefined ? integer(last, "key") : null;
  return { records: rows.slice(0, limit).map(recordOf), next };
}

/** Groups of deltas leave the summary as it is (append.ts). */
function recordOf(row: Row): SessionRecord {
  const record = toRecord(row);
  const last = integer(row, "last");
  return { ...record, summary: { ...record.summary, eventCount: last, lastSequence: last } };
}

/** One more condition per field that was given. */
function conditions({ status, agent, directory, q }: SessionFilter): { where: string; values: string[] } {
  const columns = [
    { where: "AND agent = ?", value: agent },
    { where: "AND directory = ?", value: directory },
    // What the index leaves out is named, or it is not used.
    {
      where: `AND ${field("status")} = ?${status === "idle" ? "" : ` AND ${field("status")} <> 'idle'`}`,
      value: status,
    },
  ];
  const given = columns.flatMap(({ where, value }) => (value === undefined ? [] : [{ where, value }]));
  const text = ["title", "sessionId", "nativeSessionId", "directory"].map((name) => `ifnull(${field(name)}, '')`);
  const search = `AND instr(lower(${text.join(" || char(10) || ")}), lower(?)) > 0`;
  const all = [...given, ...(q === undefined ? [] : [{ where: search, value: q }])];
  return { where: all.map(({ where }) => where).join(" "), values: all.map(({ value }) => value) };
}

const field = (name: string): string => `json_extract(summary, '$.${name}')`;
