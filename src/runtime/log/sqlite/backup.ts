/**
 * A backup is one file: the log as SQLite copies it in one transaction, with the attachments of its sessions in a table
 * and a digest of every table. It is taken while Franca runs, and is checked whole before anything of it is restored.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ApiError } from "../../../protocol/errors.ts";
import { isDead } from "../../agent/process-table.ts";
import { isDamaged, storageError } from "../../storage-error.ts";
import { blob, integer, type Row, text } from "../rows.ts";
import { type Database, openDatabase } from "./database.ts";
import { isInUse } from "./in-use.ts";
import { refuseDamagedFiles } from "./log-files.ts";
import { LOG_FILE } from "./open.ts";
import { APPLICATION_ID, NEWEST_SCHEMA, pragma, prepareDatabase, writtenByNewer } from "./schema.ts";

const OWN_TABLES = `
CREATE TABLE backup_about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE backup_files (path TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE backup_digests (name TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT;
`;
/** The highest number there is, which no system gives to a process. */
const NO_PROCESS = 2_147_483_647;
const ATTACHMENTS = "attachments";
/** Of the data folder, only files that came with prompts: one folder per session. */
const FILE_PATH = /^attachments\/[\w-]+\/[\w-]+(\.\w+)?$/;

export interface BackedUp {
  readonly sessions: number;
  readonly files: number;
  /** RFC 3339. */
  readonly at: string;
}

export interface BackupOptions {
  /** The data folder. */
  readonly folder: string;
  readonly file: string;
  readonly version: string;
}

/** Others may read and write the log meanwhile. The file is its user's alone, from the first byte. */
export function writeBackup({ folder, file, version }: BackupOptions): BackedUp {
  const source = join(folder, LOG_FILE);
  if (!existsSync(source))
    throw new ApiError("storage_error", `There is nothing to back up: ${source} does not exist.`);
  if (existsSync(file)) throw new ApiError("storage_error", `${file} exists already: choose another name.`);
  try {
    refuseDamagedFiles(source);
  } catch (error) {
    throw storageError(source, error);
  }
  const draft = `${file}.partial`;
  try {
    rmSync(draft, { force: true });
    closeSync(openSync(draft, "wx", 0o600));
    using(openDatabase(source), (log) => {
      checkLog(log, source);
      log.prepare("VACUUM INTO ?").run(draft);
    });
    // After the log: whatever its prompts name was stored before them.
    const done = using(openDatabase(draft), (copy) => complete(copy, { folder, version }));
    syncFile(draft);
    linkSync(draft, file);
    return done;
  } catch (error) {
    throw storageError(file, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

function complete(copy: Database, { folder, version }: Pick<BackupOptions, "folder" | "version">): BackedUp {
  copy.exec(OWN_TABLES);
  const at = new Date().toISOString();
  const about = copy.prepare("INSERT INTO backup_about VALUES (?, ?)");
  for (const [name, value] of Object.entries({ version, at })) about.run(name, value);
  const files = attachmentsOf(folder);
  const insert = copy.prepare("INSERT INTO backup_files VALUES (?, ?)");
  for (const path of files) insert.run(path, readFileSync(join(folder, path)));
  const digest = copy.prepare("INSERT INTO backup_digests VALUES (?, ?)");
  for (const table of tablesOf(copy)) digest.run(table, digestOf(copy, table));
  return { sessions: countSessions(copy), files: files.length, at };
}

function attachmentsOf(folder: string): string[] {
  const root = join(folder, ATTACHMENTS);
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((path) => `${ATTACHMENTS}/${path}`)
    .filter((path) => FILE_PATH.test(path) && lstatSync(join(folder, path), { throwIfNoEntry: false })?.isFile());
}

export interface RestoreOptions {
  readonly file: string;
  readonly folder: string;
  /** What is in the folder now is kept beside it, under another name. */
  readonly replace: boolean;
}

export interface Restored extends BackedUp {
  /** Where the former log is now; null where there was none. */
  readonly kept: string | null;
}

/** The caller holds the folder's daemon lock. Nothing of the folder is touched before the backup was checked whole. */
export function restoreBackup({ file, folder, replace }: RestoreOptions): Restored {
  const target = join(folder, LOG_FILE);
  const draft = `${target}.restoring`;
  if (existsSync(target) && !replace) {
    throw new ApiError(
      "storage_error",
      `${target} exists already: give --force to put the backup in its place (the former log is kept beside it), or ` +
        "choose another folder with --data.",
    );
  }
  try {
    if (existsSync(target)) refuseUsed(target);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeLog(draft);
    closeSync(openSync(draft, "wx", 0o600));
    copyFileSync(file, draft);
    // A copy has the rights of its original.
    chmodSync(draft, 0o600);
    const done = using(openDatabase(draft), (copy) => unpack(copy, { file, folder }));
    syncFile(draft);
    const kept = existsSync(target) ? moveAside(target) : null;
    renameSync(draft, target);
    return { ...done, kept };
  } catch (error) {
    throw storageError(file, error);
  } finally {
    removeLog(draft);
  }
}

function unpack(copy: Database, { file, folder }: Pick<RestoreOptions, "file" | "folder">): BackedUp {
  checkLog(copy, file);
  checkDigests(copy, file);
  const about = copy.prepare("SELECT value FROM backup_about WHERE name = 'at'").get() ?? {};
  const files = copy.prepare("SELECT path FROM backup_files").all();
  for (const row of files) {
    const path = text(row, "path");
    if (!FILE_PATH.test(path)) throw damaged(file, `it holds a file with the path ${JSON.stringify(path)}`);
  }
  const body = copy.prepare("SELECT body FROM backup_files WHERE path = ?");
  for (const row of files) {
    const path = join(folder, text(row, "path"));
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, blob(body.get(text(row, "path")) ?? {}, "body"), { mode: 0o600 });
  }
  copy.exec("DROP TABLE backup_about; DROP TABLE backup_files; DROP TABLE backup_digests;");
  // Processes of the machine and the moment that the backup was made on. Its owner may live on elsewhere: here it is
  // dead, so that the next start ends the turns that were open.
  copy.exec("DELETE FROM runs");
  copy.exec(`UPDATE sessions SET owner_pid = ${NO_PROCESS}, owner_started = '' WHERE owner_pid IS NOT NULL`);
  copy.exec("VACUUM");
  prepareDatabase(copy, { file, durability: "normal" });
  copy.exec("PRAGMA journal_mode = DELETE");
  return { sessions: countSessions(copy), files: files.length, at: text(about, "value") };
}

function checkLog(database: Database, file: string): void {
  if (pragma(database, "application_id") !== APPLICATION_ID) {
    throw new ApiError("storage_error", `${file} is no Franca log.`);
  }
  const schema = pragma(database, "user_version");
  if (schema > NEWEST_SCHEMA) throw writtenByNewer(file, schema);
}

function checkDigests(copy: Database, file: string): void {
  const verdict = text(copy.prepare("PRAGMA integrity_check(1)").get() ?? {}, "integrity_check");
  if (verdict !== "ok") throw damaged(file, verdict);
  if (!tablesOf(copy, { own: true }).includes("backup_digests")) {
    throw new ApiError("storage_error", `${file} is a Franca log but no backup: franca backup makes one.`);
  }
  const digests = copy.prepare("SELECT name, digest FROM backup_digests").all();
  const known = new Map(digests.map((row) => [text(row, "name"), text(row, "digest")]));
  const tables = tablesOf(copy);
  const wrong = tables.filter((table) => known.get(table) !== digestOf(copy, table));
  if (wrong.length > 0) throw damaged(file, `the table ${wrong.join(", ")} is not as it was written`);
  if (known.size !== tables.length) throw damaged(file, "a table is missing");
}

const damaged = (file: string, why: string): ApiError =>
  new ApiError("storage_error", `The backup ${file} is damaged (${why}). Nothing was restored.`);

/** Every table of the log, and the attachments. */
function tablesOf(database: Database, { own = false } = {}): string[] {
  const select = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
  const names = database
    .prepare(select)
    .all()
    .map((row) => text(row, "name"));
  if (own) return names;
  return names.filter((name) => !name.startsWith("sqlite_") && !/^backup_(about|digests)$/.test(name));
}

function digestOf(database: Database, table: string): string {
  const hash = createHash("sha256");
  for (const row of database.prepare(`SELECT * FROM "${table}" ORDER BY 1, 2`).iterate()) {
    for (const value of Object.values(row)) {
      const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value));
      hash.update(`${value === null ? "null" : typeof value} ${bytes.length} `).update(bytes);
    }
  }
  return hash.digest("hex");
}

const countSessions = (database: Database): number =>
  integer(database.prepare("SELECT count(*) AS n FROM sessions WHERE id IS NOT NULL").get() ?? {}, "n");

/** A `franca run` without a daemon may have sessions of its own there. */
function refuseUsed(target: string): void {
  const owners = ownersIn(target);
  const alive = owners
    .map((row) => ({ pid: integer(row, "owner_pid"), started: text(row, "owner_started") }))
    .filter((owner) => !isDead(owner));
  if (alive.length === 0) return;
  const pids = alive.map(({ pid }) => pid).join(", ");
  throw new ApiError("session_owned", `Franca works on ${target} (process ${pids}): wait for it, or stop it.`);
}

/** A damaged log is replaced unless a process has it open. */
function ownersIn(target: string): readonly Row[] {
  const select = "SELECT DISTINCT owner_pid, owner_started FROM sessions WHERE owner_pid IS NOT NULL";
  try {
    refuseDamagedFiles(target);
    return using(openDatabase(target), (log) =>
      pragma(log, "application_id") === APPLICATION_ID ? log.prepare(select).all() : [],
    );
  } catch (error) {
    if (!isDamaged(error)) throw error;
    if (!isInUse(target)) return [];
    throw new ApiError("session_owned", `A process has ${target} open: stop it, then restore the backup again.`);
  }
}

/** With its -wal file, so that both can still be read. */
function moveAside(target: string): string {
  const kept = `${target}.before-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
  for (const suffix of ["-wal", ""]) if (existsSync(target + suffix)) renameSync(target + suffix, kept + suffix);
  removeLog(target);
  return kept;
}

function removeLog(file: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${file}${suffix}`, { force: true });
}

function syncFile(file: string): void {
  const descriptor = openSync(file, constants.O_RDWR);
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function using<T>(database: Database, work: (database: Database) => T): T {
  try {
    return work(database);
  } finally {
    database.close();
  }
}
