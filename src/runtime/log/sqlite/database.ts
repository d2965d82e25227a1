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
