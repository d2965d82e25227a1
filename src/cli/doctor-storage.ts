/** `franca doctor` looks at what is stored too: structure, checksums, sequences, and what belongs to no session. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ApiError } from "../protocol/errors.ts";
import { lockDaemon } from "../runtime/daemon/lock.ts";
import { folderName } from "../runtime/folder-name.ts";
import { text } from "../runtime/log/rows.ts";
import { type Database, openDatabase } from "../runtime/log/sqlite/database.ts";
import { examineLog, type Problem, repairLog } from "../runtime/log/sqlite/examine.ts";
import { refuseDamagedFiles } from "../runtime/log/sqlite/log-files.ts";
import { LOG_FILE } from "../runtime/log/sqlite/open.ts";
import { describeSalvage, salvagesIn } from "../runtime/log/sqlite/salvage.ts";
import { correctVersion, mayBeOurs, NEWEST_SCHEMA, pragma, prepareDatabase } from "../runtime/log/sqlite/schema.ts";
import { storageError } from "../runtime/storage-error.ts";

export interface StorageProblem extends Omit<Problem, "kind"> {
  readonly kind: Problem["kind"] | "attachments";
}

/** What is wrong with the log of a data folder; a folder without a log is all right. */
export const examineStorage = (folder: string): readonly StorageProblem[] => [
  ...onLog(folder, (database) => [...examineLog(database), ...strayAttachments(folder, database).map(strayProblem)]),
  ...salvagedBefore(folder),
];

/** Named for as long as the report is there. */
const salvagedBefore = (folder: string): StorageProblem[] =>
  salvagesIn(folder)
    .flatMap((salvage) => [describeSalvage(salvage), ...salvage.problems])
    .map((message) => ({ kind: "database", message, repairable: false }));

/** Repairs what can be repaired while no daemon runs on the folder. Gives what is still wrong. */
export function repairStorage(folder: string): readonly StorageProblem[] {
  const lock = lockDaemon(folder);
  try {
    return onLog(folder, (database) => {
      if (mayBeOurs(database)) correctVersion(database);
      const left = repairLog(database);
      for (const path of strayAttachments(folder, database)) rmSync(path, { recursive: true, force: true });
      return left;
    });
  } finally {
    lock.release();
  }
}

type Examine = (database: Database) => readonly StorageProblem[];

function onLog(folder: string, examine: Examine): readonly StorageProblem[] {
  const file = join(folder, LOG_FILE);
  if (!existsSync(file)) return [];
  try {
    refuseDamagedFiles(file);
    const database = openDatabase(file);
    try {
      // An older file is upgraded as at every start; a newer one is refused in words.
      const version = pragma(database, "user_version");
      if (version !== NEWEST_SCHEMA && !mayBeOurs(database)) prepareDatabase(database, { file, durability: "normal" });
      const found = examine(database);
      return mayBeOurs(database) ? [versionProblem(file, version), ...found] : found;
    } finally {
      database.close();
    }
  } catch (error) {
    const { message } = error instanceof ApiError ? error : storageError(file, error);
    return [{ kind: "database", message, repairable: false }];
  }
}

const versionProblem = (file: string, version: number): StorageProblem => ({
  kind: "database",
  message:
    `${file} says that a newer Franca wrote it (schema ${version}), and has the tables of this one. Update Franca, or ` +
    "repair the number if no newer Franca has used it.",
  repairable: true,
});

/** Folders of files that came with prompts of sessions that are gone. */
function strayAttachments(folder: string, database: Database): string[] {
  const root = join(folder, "attachments");
  if (!existsSync(root)) return [];
  const ids = database.prepare("SELECT id FROM sessions WHERE id IS NOT NULL").all();
  const known = new Set(ids.map((row) => folderName(text(row, "id"))));
  return readdirSync(root)
    .filter((name) => !known.has(name))
    .map((name) => join(root, name));
}

const strayProblem = (path: string): StorageProblem => ({
  kind: "attachments",
  message: `${path} holds attachments of a session that is gone.`,
  repairable: true,
});
