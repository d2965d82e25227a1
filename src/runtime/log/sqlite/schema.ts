/** The tables of the SQLite log, and how an older file becomes a newer one. Steps are only ever added at the end. */
import { dirname } from "node:path";
import { ApiError } from "../../../protocol/errors.ts";
import { textChecksum } from "../checksum.ts";
import { integer, text } from "../rows.ts";
import { sumStored } from "./checksum.ts";
import type { Database } from "./database.ts";

/** "Frnc": so that a file of somebody else is recognised as such. */
export const APPLICATION_ID = 0x46726e63;
/** A file up to this size is checked whole when it is opened; of a larger one, only the table of sessions. */
const CHECKED_BYTES = 16 * 1024 * 1024;

/** Of new files. A commit writes whole pages, and most commits have a few hundred bytes for each of six or more. */
export const PAGE_BYTES = 4_096;
/**
 * The -wal file is checkpointed in quiet moments, or by a thread (checkpointer.ts); where neither is to be had, at this
 * length, to which it is also cut. That waits for the disk: a longer one makes deltas wait longer, a shorter one more
 * often.
 */
export const WAL_KEPT_BYTES = 16 * 1024 * 1024;
export const WAL_PAGES = WAL_KEPT_BYTES / PAGE_BYTES;

/** One committed group of events is one row: a flood costs one insert per tick and not one per event. */
const TABLES = `
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT UNIQUE,
  settings TEXT NOT NULL,
  summary TEXT NOT NULL,
  last INTEGER NOT NULL,
  owner_pid INTEGER,
  owner_started TEXT
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner_pid) WHERE owner_pid IS NOT NULL;
CREATE TABLE groups (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX groups_by_session ON groups (session, last);
CREATE TABLE native (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX native_by_session ON native (session, last);
CREATE TABLE items (
  session INTEGER NOT NULL,
  number INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE prompts (
  ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  idempotency_key TEXT,
  body TEXT NOT NULL,
  delivery TEXT NOT NULL,
  status TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  UNIQUE (session, id),
  UNIQUE (session, idempotency_key)
) STRICT;
CREATE INDEX prompts_queued ON prompts (session) WHERE status = 'queued';
CREATE TABLE checkpoints (
  session INTEGER PRIMARY KEY,
  version TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT;
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  owner_pid INTEGER NOT NULL,
  owner_started TEXT NOT NULL,
  leader_pid INTEGER,
  leader_started TEXT
) STRICT;
`;

/** What projections store. The order of records is that of their keys. */
const PROJECTIONS = `
CREATE TABLE projections (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  state BLOB NOT NULL,
  known BLOB,
  UNIQUE (session, name, sequence)
) STRICT;
CREATE TABLE records (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, name, scope, id)
) STRICT;
CREATE INDEX records_in_order ON records (session, name, scope);
`;

/** Checksums of stored groups, and what the list of sessions is asked for. */
const CHECKSUMS = `
ALTER TABLE groups ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE native ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN directory TEXT NOT NULL DEFAULT '';
UPDATE sessions SET
  agent = ifnull(json_extract(settings, '$.create.agent'), ''),
  directory = ifnull(json_extract(settings, '$.create.directory'), '');
CREATE INDEX sessions_by_agent ON sessions (agent, key);
CREATE INDEX sessions_by_directory ON sessions (directory, key);
`;

/** The few sessions that are not idle are found without reading all others. */
const BY_STATUS = `
CREATE INDEX sessions_by_status ON sessions (json_extract(summary, '$.status'), key)
  WHERE json_extract(summary, '$.status') <> 'idle';
`;

/** Checksums of settings, summaries, prompts and checkpoints. Rows from before have none. */
const RECORD_CHECKSUMS = `
ALTER TABLE sessions ADD COLUMN checksum INTEGER;
ALTER TABLE sessions ADD COLUMN summary_checksum INTEGER;
ALTER TABLE prompts ADD COLUMN checksum INTEGER;
ALTER TABLE checkpoints ADD COLUMN checksum INTEGER;
`;

const UNREADABLE = "SELECT 1 FROM sessions WHERE NOT (json_valid(settings) AND json_valid(summary)) LIMIT 1";

type Migration = (database: Database) => void;

/** A new step changes the tables or an index: a damaged version number is recognised by the schema (`SCHEMA_SUM`). */
const MIGRATIONS: readonly Migration[] = [
  (database) => database.exec(TABLES),
  (database) => database.exec(PROJECTIONS),
  (database) => {
    database.exec(CHECKSUMS);
    sumStored(database);
  },
  // Native lines may be stored as what differs from a template: older code must not read them. Nothing is rewritten.
  () => {},
  (database) => database.exec(BY_STATUS),
  (database) => database.exec(RECORD_CHECKSUMS),
];

/** What this version writes; newer files are left alone. */
export const NEWEST_SCHEMA = MIGRATIONS.length;
/** Checksum of the statements in the schema that this version writes. A test prints the new one after a change. */
export const SCHEMA_SUM = 839_875_163;

/** Of the tables and indexes of a log; a backup has tables of its own. */
export function sumSchema(database: Database): number {
  const select = "SELECT type, name, tbl_name, ifnull(sql, '') AS sql FROM sqlite_schema ORDER BY type, name";
  const rows = database.prepare(select).all();
  const own = rows.filter((row) => !/^(backup|sqlite)_/.test(text(row, "tbl_name")));
  return textChecksum(...own.flatMap((row) => ["type", "name", "tbl_name", "sql"].map((name) => text(row, name))));
}

export const writtenByNewer = (file: string, schema: number): ApiError =>
  new ApiError(
    "storage_error",
    `${file} was written by a newer Franca (schema ${schema}): update Franca. If no newer Franca has used it, its version ` +
      `number is damaged: franca doctor --storage --yes --data ${dirname(file)} corrects it.`,
  );

export interface PrepareOptions {
  readonly file: string;
  readonly durability: "normal" | "full";
  /** Checked whole, whatever its size. */
  readonly isSuspect?: boolean;
}

export function prepareDatabase(database: Database, options: PrepareOptions): void {
  const { file, durability } = options;
  // Only a file that is still empty takes them, and in another one the second is a write, which a full disk refuses.
  // Deleted sessions give their room back.
  if (pragma(database, "page_count") === 0) {
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  }
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`);
  // Deleted rows are overwritten: a deleted session cannot be read from the file's free pages.
  database.exec("PRAGMA secure_delete = ON");
  // Moving what was written to its place waits for the disk; with a longer log before it, a flood rarely does.
  database.exec(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}`);
  database.exec(`PRAGMA journal_size_limit = ${WAL_KEPT_BYTES}`);
  check(database, options);
  migrate(database, file);
}

function check(database: Database, { file, isSuspect = false }: PrepareOptions): void {
  const bytes = pragma(database, "page_count") * pragma(database, "page_size");
  const application = pragma(database, "application_id");
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map((row) => text(row, "name"));
  if (tables.length > 0 && application !== APPLICATION_ID) {
    if (["sessions", "groups", "native"].every((name) => tables.includes(name))) throw malformed("its name is damaged");
    throw new ApiError("storage_error", `${file} is a database of another program: choose another data folder.`);
  }
  if (tables.length === 0) return;
  const isWhole = isSuspect || bytes <= CHECKED_BYTES;
  const [row] = database.prepare(isWhole ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(sessions)").all();
  const verdict = text(row ?? {}, isWhole ? "integrity_check" : "quick_check");
  if (verdict !== "ok") throw malformed(verdict);
  if (isWhole && database.prepare(UNREADABLE).get() !== undefined) throw malformed("a session's record is no JSON");
}

/** Begins as SQLite's own message does. */
export const malformed = (why: string): Error => new Error(`database disk image is malformed: ${why}`);

function migrate(database: Database, file: string): void {
  if (pragma(database, "user_version") !== NEWEST_SCHEMA) {
    database.exec("BEGIN IMMEDIATE");
    try {
      // Read again under the lock: another process may have been faster.
      upgradeFrom(database, { file, version: pragma(database, "user_version") });
      database.exec("COMMIT");
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  }
  if (sumSchema(database) !== SCHEMA_SUM) throw malformed("its schema is damaged");
}

/** Whether a file that seems to be newer has exactly the tables of this version: its version number may be damaged. */
export const mayBeOurs = (database: Database): boolean =>
  pragma(database, "user_version") > NEWEST_SCHEMA && sumSchema(database) === SCHEMA_SUM;

/** Only with the consent of the user: a newer version may store something else in the same tables. */
export const correctVersion = (database: Database): void => database.exec(`PRAGMA user_version = ${NEWEST_SCHEMA}`);

function upgradeFrom(database: Database, { file, version }: { readonly file: string; readonly version: number }): void {
  if (version > NEWEST_SCHEMA) throw writtenByNewer(file, version);
  if (sumSchema(database) === SCHEMA_SUM) throw malformed("its version number is damaged");
  try {
    for (const step of MIGRATIONS.slice(Math.max(0, version))) step(database);
  } catch (error) {
    // A table or a column that is there already was not expected in a file of that version.
    throw isMistaken(error) ? malformed(String(error)) : error;
  }
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  database.exec(`PRAGMA user_version = ${NEWEST_SCHEMA}`);
}

const isMistaken = (error: unknown): boolean =>
  error instanceof Error && /already exists|duplicate column|no such (table|column)/.test(error.message);

export function pragma(database: Database, name: string): number {
  return integer(database.prepare(`PRAGMA ${name}`).get() ?? {}, name);
}
