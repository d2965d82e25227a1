/** The embedded log: one SQLite file in the data folder, in WAL mode, which several processes may open at once. */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTick } from "node:timers/promises";
import { ApiError } from "../../../protocol/errors.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import { isDamaged, storageError } from "../../storage-error.ts";
import { openCodec } from "../codec/codec.ts";
import type { EventLog } from "../contract.ts";
import { openAppender } from "./append.ts";
import { checkpointWal } from "./checkpoint.ts";
import { openCheckpointer } from "./checkpointer.ts";
import { type Database, openDatabase } from "./database.ts";
import { noteOpen } from "./in-use.ts";
import { refuseDamagedFiles } from "./log-files.ts";
import { projections } from "./projections.ts";
import { reading } from "./read.ts";
import { records } from "./records.ts";
import { describeSalvage, salvageLog, salvagesIn } from "./salvage.ts";
import { pragma, prepareDatabase } from "./schema.ts";
import { openStore, type Store } from "./store.ts";
import { clearSuspicion, isSuspect } from "./suspicion.ts";

export const LOG_FILE = "franca.db";
/** A long session is deleted bit by bit, so that others are served in between. */
const DELETED_ROWS = 50;
const FREED_PAGES = 1_000;
/** Sessions that have something to store try more often than this. */
const RETRY_MS = 5_000;

export interface SqliteOptions {
  readonly folder: string;
  /** `full` survives the loss of power too, and waits for the disk at every commit. */
  readonly durability: "normal" | "full";
  /** Checkpoints of another version of the code are not used. */
  readonly version: string;
  /** The file may not grow beyond this: appends fail then, and nothing that was stored is lost. */
  readonly maxBytes?: number;
}

export function openSqliteLog({ folder, durability, version, maxBytes }: SqliteOptions): EventLog {
  const file = join(folder, LOG_FILE);
  const database = open({ folder, file, durability });
  const store = openStore(database, file);
  const release = noteOpen(file);
  const salvages = salvagesIn(folder);
  if (maxBytes !== undefined) limit(database, maxBytes);
  const codec = openCodec();
  const appender = openAppender(store, { version, codec });
  const checkpointer = openCheckpointer({ database, file, commits: appender });
  appender.onCommitted(checkpointer.touch);
  let dataVersion = pragma(database, "data_version");
  let closed = false;

  return {
    shared: true,
    ...records(store),
    ...reading(store, { version, codec }),
    projections: projections(store, { version }),
    openWriter: codec.openWriter,
    append: appender.append,
    onCommitted: appender.onCommitted,
    async delete(id) {
      appender.flush();
      await deleteSession(database, { store, id, isClosed: () => closed });
      // The -wal file still holds the pages as they were; while others read from it, the next one to close cuts it.
      if (!closed) checkpointWal(database, "TRUNCATE");
    },
    onLost() {},
    onElsewhere() {},
    hosts: async () => [],
    cluster: null,
    changedElsewhere() {
      const now = store.guard(() => pragma(database, "data_version"));
      if (now === dataVersion) return false;
      dataVersion = now;
      return true;
    },
    failure: () => failureOf(store),
    salvaged: salvages.map(describeSalvage),
    size: () =>
      store.guard(
        () => (pragma(database, "page_count") - pragma(database, "freelist_count")) * pragma(database, "page_size"),
      ),
    work: () => ({ ...store.work }),
    async close() {
      if (closed) return;
      appender.flush();
      closed = true;
      await checkpointer.stop();
      checkpointWal(database, "TRUNCATE");
      database.close();
      release();
    },
  };
}

/** Where nobody has tried for a while, a row is written again as it is. */
function failureOf(store: Store): string | null {
  const known = store.failure();
  if (known === null || performance.now() - known.at < RETRY_MS) return known?.message ?? null;
  const retry = "UPDATE sessions SET last = last WHERE key = (SELECT min(key) FROM sessions)";
  try {
    store.transaction(() => store.prepare(retry).run());
  } catch {
    // The store keeps what it failed with.
  }
  return store.failure()?.message ?? null;
}

type Opening = Pick<SqliteOptions, "folder" | "durability"> & { readonly file: string };

/** Opens the log; a damaged one is salvaged, once. */
function open(options: Opening): Database {
  const { file } = options;
  try {
    try {
      return openChecked(options);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      const outcome = salvageLog(file);
      if (outcome !== "salvaged") throw notSalvaged(file, { outcome, error });
      return openChecked(options);
    }
  } catch (error) {
    throw storageError(file, error);
  }
}

interface NotSalvaged {
  readonly outcome: "used" | "unreadable";
  readonly error: unknown;
}

function notSalvaged(file: string, { outcome, error }: NotSalvaged): ApiError {
  const advice =
    outcome === "used"
      ? "another Franca process uses it. Stop that process, then start Franca again: what can be read is copied into a new file."
      : `nothing in it can be read. Move ${file} away (with ${LOG_FILE}-wal and ${LOG_FILE}-shm, if they exist) or run franca restore --force with a backup.`;
  const why = error instanceof Error ? error.message : String(error);
  return new ApiError("storage_error", `${file} is damaged or is no Franca log, and ${advice} (${why})`, {
    cause: error,
  });
}

function openChecked({ folder, file, durability }: Opening): Database {
  // Sessions hold what people said and the variables they passed: for this user's eyes only.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  refuseDamagedFiles(file);
  const database = openDatabase(file);
  try {
    chmodSync(file, 0o600);
    prepareDatabase(database, { file, durability, isSuspect: isSuspect(file) });
    clearSuspicion(file);
    return database;
  } catch (error) {
    if (isDamaged(error)) leaveWal(database);
    database.close();
    throw error;
  }
}

/**
 * Moves the -wal file into the database and deletes it. The driver for Node 20 keeps a closed database open until its
 * statements are collected, and would then delete the -wal file of the log that has taken its place.
 */
function leaveWal(database: Database): void {
  try {
    database.exec("PRAGMA journal_mode = DELETE");
  } catch {
    // In that case both files are read and kept.
  }
}

function limit(database: Database, maxBytes: number): void {
  database.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pragma(database, "page_size"))}`);
}

interface Deletion {
  readonly store: Store;
  readonly id: SessionId;
  readonly isClosed: () => boolean;
}

/** The session is gone with the first statement; its rows follow. The next delete takes up what a crash leaves. */
async function deleteSession(database: Database, { store, id, isClosed }: Deletion): Promise<void> {
  const { prepare, guard, transaction } = store;
  store.keyOf(id);
  guard(() => prepare("UPDATE sessions SET id = NULL, owner_pid = NULL, owner_started = NULL WHERE id = ?").run(id));
  for (const row of guard(() => prepare("SELECT key FROM sessions WHERE id IS NULL").all())) {
    const key = Number(row.key);
    for (const table of ["groups", "native", "records", "projections"]) {
      const column = table === "groups" ? "position" : "key";
      const some = `SELECT ${column} FROM ${table} WHERE session = ? LIMIT ${DELETED_ROWS}`;
      const statement = `DELETE FROM ${table} WHERE ${column} IN (${some})`;
      while (!isClosed() && Number(guard(() => prepare(statement).run(key)).changes) > 0) await nextTick();
    }
    if (isClosed()) return;
    transaction(() => {
      for (const table of ["items", "prompts", "checkpoints"]) {
        prepare(`DELETE FROM ${table} WHERE session = ?`).run(key);
      }
      prepare("DELETE FROM sessions WHERE key = ?").run(key);
    });
  }
  while (!isClosed() && guard(() => pragma(database, "freelist_count")) > 0) {
    guard(() => database.exec(`PRAGMA incremental_vacuum(${FREED_PAGES})`));
    await nextTick();
  }
}
