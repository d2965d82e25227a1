/** `franca backup`: the log and its attachments in one file, also while the daemon runs. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { writeBackup } from "../runtime/log/sqlite/backup.ts";
import { version } from "../server/version.ts";
import { loadSettings } from "./config.ts";
import { refuseInsideSession } from "./door.ts";
import { printJson } from "./table.ts";
import { CommandError } from "./usage.ts";

interface Flags {
  readonly json?: true;
}

export function define(command: Command): void {
  command
    .argument("<file>", "the file to write; it must not exist yet")
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      `
The backup holds all sessions with their events, native lines and attachments, as of one moment; agents may work
meanwhile. Like the data folder, it holds what was said: only you can read the file. The token, page logins, trusted
folders and installed agents are not in it.

Example:
  $ franca backup ~/franca-$(date +%F).backup`,
    )
    .action(backup);
}

async function backup(file: string, flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const { data, store } = await loadSettings({ flags: { ...flags }, env: process.env });
  if (store !== "sqlite") {
    const other = store === "postgres" ? ": use the database's own tools, such as pg_dump." : ".";
    throw new CommandError(`The store ${store} is not backed up by Franca${other}`);
  }
  const path = resolve(file);
  const done = writeBackup({ folder: data, file: path, version });
  if (flags.json === true) return printJson({ file: path, ...done });
  const counted = `${done.sessions} session${done.sessions === 1 ? "" : "s"}`;
  process.stdout.write(`${counted} backed up into ${path}. franca restore puts them back.\n`);
}
