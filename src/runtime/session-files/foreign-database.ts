/**
 * A SQLite database of another program, read without leaving a trace beside it. SQLite itself creates an index file
 * (`-shm`) when it opens a database with a write-ahead log, so it is opened in place only where a running program has
 * made one. What is at rest is opened as immutable; what a dead program left in its log is read from a private copy.
 */
import { copyFileSync, lstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Database, openReadOnly } from "../log/sqlite/database.ts";

export interface ForeignDatabase {
  readonly database: Database;
  readonly close: () => void;
}

export function openForeign(path: string): ForeignDatabase | null {
  const log = lstatSync(`${path}-wal`, { throwIfNoEntry: false });
  const index = lstatSync(`${path}-shm`, { throwIfNoEntry: false });
  if ((log !== undefined && !log.isFile()) || (index !== undefined && !index.isFile())) return null;
  if (index !== undefined) return opened(openReadOnly(path));
  if (log === undefined || log.size === 0) return opened(openReadOnly(`${pathToFileURL(path).href}?immutable=1`));
  return openCopy(path);
}

const opened = (database: Database | null): ForeignDatabase | null =>
  database === null ? null : { database, close: () => database.close() };

function openCopy(path: string): ForeignDatabase | null {
  const folder = mkdtempSync(join(tmpdir(), "franca-read-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, "copy.db");
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    const database = openReadOnly(copy);
    if (database === null) {
      remove();
      return null;
    }
    return {
      database,
      close() {
        database.close();
        remove();
      },
    };
  } catch {
    remove();
    return null;
  }
}
