/** `franca restore`: a backup becomes the log of a data folder on which nobody works. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { lockDaemon } from "../runtime/daemon/lock.ts";
import { restoreBackup } from "../runtime/log/sqlite/backup.ts";
import { loadSettings } from "./config.ts";
import { examineStorage } from "./doctor-storage.ts";
import { refuseInsideSession } from "./door.ts";
import { printJson } from "./table.ts";
import { UsageError } from "./usage.ts";

interface Flags {
  readonly force?: true;
  readonly json?: true;
}

export function define(command: Command): void {
  command
    .argument("<file>", "a file that franca backup has written")
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .option("--force", "also where there are sessions already; their log is kept beside the new one")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      `
The backup is checked whole before anything is changed. A backup of an older Franca is upgraded; one of a newer Franca is
refused. Turns that were running when it was made end as interrupted at the next start.

Examples:
  $ franca daemon stop
  $ franca restore ~/franca-2026-11-17.backup --force`,
    )
    .action(restore);
}

async function restore(file: string, flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const { data } = await loadSettings({ flags: { ...flags }, env: process.env });
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`The backup ${path} does not exist.`);
  // No daemon runs on the folder, and none can start until it is done.
  const lock = lockDaemon(data);
  try {
    const done = restoreBackup({ file: path, folder: data, replace: flags.force === true });
    const problems = examineStorage(data).map(({ message }) => message);
    if (flags.json === true) return printJson({ data, ...done, problems });
    const counted = `${done.sessions} session${done.sessions === 1 ? "" : "s"}`;
    process.stdout.write(`${counted} as of ${done.at} restored into ${data}.\n`);
    if (done.kept !== null)
      process.stdout.write(`The former log is kept as ${done.kept}: remove it when all is well.\n`);
    for (const problem of problems) process.stderr.write(`storage: ${problem}\n`);
  } finally {
    lock.release();
  }
}
