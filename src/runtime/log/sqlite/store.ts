/** What the parts of the SQLite log share: the open database, clear errors, transactions and session keys. */
import { ApiError } from "../../../protocol/errors.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import { isDamaged, storageError } from "../../storage-error.ts";
import { noSession } from "../errors.ts";
import { integer } from "../rows.ts";
import type { Database, Statement } from "./database.ts";
import { suspect } from "./suspicion.ts";

export interface Store {
  readonly file: string;
  readonly prepare: (sql: string) => Statement;
  /** Runs the work; whatever SQLite says against it becomes a `storage_error` that names the file. */
  readonly guard: <T>(work: () => T) => T;
  /** The same, all or nothing. */
  readonly transaction: <T>(work: () => T) => T;
  /** The session's key; throws `session_not_found`. */
  readonly keyOf: (id: SessionId) => number;
  readonly work: { rows: number; bytes: number };
  /** Why the last transaction could not be stored, and when (of `performance.now()`); null when it could. */
  readonly failure: () => { readonly message: string; readonly at: number } | null;
}

/** Statements are kept. Keys are not: another process may delete a session and make it again under its name. */
export function openStore(database: Database, file: string): Store {
  const statements = new Map<string, Statement>();
  const prepare = (sql: string): Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const guard = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (isDamaged(error)) suspect(file);
      throw storageError(file, error);
    }
  };
  let failure: ReturnType<Store["failure"]> = null;
  const noting = <T>(work: () => T): T => {
    try {
      const result = guard(work);
      failure = null;
      return result;
    } catch (error) {
      if (error instanceof ApiError && error.code === "storage_error") {
        failure = { message: error.message, at: performance.now() };
      }
      throw error;
    }
  };
  return {
    file,
    prepare,
    guard,
    failure: () => failure,
    transaction: (work) =>
      noting(() => {
        prepare("BEGIN IMMEDIATE").run();
        try {
          const result = work();
          prepare("COMMIT").run();
          return result;
        } catch (error) {
          rollBack(database);
          throw error;
        }
      }),
    keyOf(id) {
      const row = guard(() => prepare("SELECT key FROM sessions WHERE id = ?").get(id));
      if (row === undefined) throw noSession(id);
      return integer(row, "key");
    },
    work: { rows: 0, bytes: 0 },
  };
}

/** A failed COMMIT may have rolled back by itself. */
function rollBack(database: Database): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // There is no transaction any more: that is what we want.
  }
}
