/** The SQLite log as a side of a copy. Nobody else may have it open for writing meanwhile. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { openDataFolder } from "../../data-folder.ts";
import { storageError } from "../../storage-error.ts";
import { integer, text } from "../rows.ts";
import { openDatabase } from "../sqlite/database.ts";
import { refuseDamagedFiles } from "../sqlite/log-files.ts";
import { LOG_FILE } from "../sqlite/open.ts";
import { prepareDatabase } from "../sqlite/schema.ts";
import { type CopyDatabase, copiedChecksum, type Value, valueIn } from "./tables.ts";

export function openSqliteSide(folder: string): CopyDatabase {
  const file = join(folder, LOG_FILE);
  openDataFolder(folder);
  const guard = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw storageError(file, error);
    }
  };
  guard(() => refuseDamagedFiles(file));
  const database = guard(() => openDatabase(file));
  guard(() => {
    chmodSync(file, 0o600);
    prepareDatabase(database, { file, durability: "full" });
  });
  const query: CopyDatabase["query"] = async (sql, ...values) => guard(() => database.prepare(sql).all(...values));
  const insertSession =
    "INSERT INTO sessions (id, settings, summary, last, agent, directory, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)";
  const insertGroup = "INSERT INTO groups (session, first, last, body, checksum) VALUES (?, ?, ?, ?, ?)";
  return {
    name: file,
    schema: "",
    query,
    async insertSession(session) {
      const { lastInsertRowid } = guard(() =>
        database
          .prepare(insertSession)
          .run(
            ...["id", "settings", "summary"].map((name) => text(session, name)),
            integer(session, "last"),
            ...["agent", "directory"].map((name) => text(session, name)),
            copiedChecksum(session, text(session, "settings")),
          ),
      );
      return Number(lastInsertRowid);
    },
    async insertGroups(session, rows) {
      const columns = ["first", "last", "body", "checksum"];
      for (const row of rows) {
        const values: Value[] = columns.map((name) => valueIn(row, name));
        guard(() => database.prepare(insertGroup).run(session, ...values));
      }
    },
    close: async () => database.close(),
  };
}
