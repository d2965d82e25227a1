/** SQLite by one interface: built into Node from 22.13 on, a package with the same interface before that. */
import { createRequire } from "node:module";
import { ApiError } from "../../../protocol/errors.ts";
import type { Row } from "../rows.ts";

export type Value = null | number | string | Uint8Array;

export interface Statement {
  run(...values: Value[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
  iterate(...values: Value[]): Iterable<Row>;
}

export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

interface DatabaseModule {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly timeout: number; readonly readOnly?: boolean },
  ) => Database;
}

/** How long we wait for another process that is writing. */
const BUSY_MS = 5_000;

export function openDatabase(file: string): Database {
  const { DatabaseSync } = loadDriver();
  return new DatabaseSync(file, { timeout: BUSY_MS });
}

/** A database of somebody else's; null when it cannot be opened. Its schema may not call functions. */
export function openReadOnly(file: string): Database | null {
  try {
    const { DatabaseSync } = loadDriver();
    const database = new DatabaseSync(file, { timeout: BUSY_MS, readOnly: true });
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON");
    return database;
  } catch {
    return null;
  }
}

function loadDriver(): DatabaseModule {
  const require = createRequire(import.meta.url);
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 13)) return loadPackage(require);
  // Node says that its SQLite is experimental; our users did not choose it, so it is no news to them.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return require("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** An optional dependency: only these versions of Node need it. */
function loadPackage(require: NodeJS.Require): DatabaseModule {
  try {
    return require("@photostructure/sqlite");
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new ApiError(
      "storage_error",
      `Node ${process.versions.node} has no SQLite of its own, and the package @photostructure/sqlite cannot be ` +
        `loaded (${reason}). Use Node 22.13 or later, or install Franca with its optional dependencies.`,
      { cause: error },
    );
  }
}

/** SQLite's primary result codes that say what to do. */
const FULL = 13;
const READ_ONLY = 8;
const CANNOT_OPEN = 14;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const BUSY = 5;
const LOCKED = 6;

/** What went wrong, to what, and what to do next. */
export function storageError(file: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  return new ApiError("storage_error", `${adviceFor(file, codeOf(cause))} (${cause.message})`, { cause });
}

/** Whether SQLite found that the file is a database, and damaged. */
export const isDamaged = (error: unknown): boolean => error instanceof Error && codeOf(error) === CORRUPT;

const codeOf = (error: Error): number | null =>
  "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : codeIn(error.message);

function adviceFor(file: string, code: number | null): string {
  switch (code) {
    case FULL:
      return `There is no room left for ${file}: free some space or delete sessions, then it goes on by itself.`;
    case READ_ONLY:
    case CANNOT_OPEN:
      return `${file} cannot be written: make the file and its folder writable, or choose another data folder.`;
    case CORRUPT:
    case NOT_A_DATABASE:
      return (
        `${file} is damaged or is no Franca log: start Franca again, and what can be read is copied into a new file. ` +
        "Where that is refused, move the file (with its -wal and -shm) away or put a backup in its place."
      );
    case BUSY:
    case LOCKED:
      return `${file} is held by another process that is writing: try again.`;
    default:
      return `${file} could not be read or written.`;
  }
}

/** Not every driver gives the number; the words are SQLite's own, or the system's. */
function codeIn(message: string): number | null {
  if (/disk is full|ENOSPC|EDQUOT/i.test(message)) return FULL;
  if (/readonly database|EROFS|EACCES|EPERM|ENOTDIR/i.test(message)) return READ_ONLY;
  if (/unable to open/i.test(message)) return CANNOT_OPEN;
  if (/malformed/i.test(message)) return CORRUPT;
  if (/not a database/i.test(message)) return NOT_A_DATABASE;
  if (/is locked/i.test(message)) return BUSY;
  return null;
}
