/** `franca store copy`: sessions from one store to another, compared by digest; begun again where it was cut off. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { ApiError } from "../protocol/errors.ts";
import { lockDaemon } from "../runtime/daemon/lock.ts";
import { ensureHostId } from "../runtime/data-folder.ts";
import { copyLog } from "../runtime/log/copy/copy.ts";
import type { CopyDatabase } from "../runtime/log/copy/tables.ts";
import { type LoadedSettings, loadSettings, refusePassword } from "./config.ts";
import { refuseInsideSession } from "./door.ts";
import { printJson } from "./table.ts";
import { CommandError, UsageError } from "./usage.ts";

interface Flags {
  readonly from: string;
  readonly to: string;
  readonly json?: true;
}

export function define(command: Command): void {
  command
    .command("copy")
    .description("copy all sessions from one store to another")
    .requiredOption("--from <store>", "sqlite:FOLDER, or postgres: for the database of the settings")
    .requiredOption("--to <store>", "the same")
    .option("--database-url-file <file>", "a file with the URL of the Postgres database (or FRANCA_DATABASE_URL)")
    .option("--data <folder>", "the data folder of sqlite: without one (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      `
Stop the daemon of the folder and all hosts of the database first. Sessions, events, native lines and prompts are
copied; every session is compared with its copy. A copy that was cut off is continued by the same command. Sessions that
come from a folder are at home on the host of that folder: start it with --store postgres and the same --data.

Examples:
  $ franca store copy --from sqlite:$HOME/.local/share/franca --to postgres:
  $ franca store copy --from postgres: --to sqlite:./export`,
    )
    .action(copy);
}

async function copy(flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  for (const store of [flags.from, flags.to]) refusePassword(store);
  const settings = await loadSettings({ flags: { ...flags }, env: process.env });
  const [source, target] = [parse(flags.from, settings), parse(flags.to, settings)];
  if (source.kind === target.kind) throw new UsageError("--from and --to: one is sqlite:, the other postgres:.");
  const folder = source.kind === "sqlite" ? source.folder : target.kind === "sqlite" ? target.folder : settings.data;
  const lock = lockDaemon(folder);
  const opened: CopyDatabase[] = [];
  try {
    for (const store of [source, target]) opened.push(await open(store, folder));
    const [from, to] = opened;
    if (from === undefined || to === undefined) throw new Error("Both sides are open.");
    await run({ from, to }, flags);
  } finally {
    await Promise.all(opened.map((one) => one.close()));
    lock.release();
  }
}

async function run({ from, to }: { from: CopyDatabase; to: CopyDatabase }, { json }: Flags): Promise<void> {
  const done = await copyLog({ from, to });
  if (json === true) printJson({ ...done });
  else {
    const { copied, present, groups, damaged } = done;
    process.stdout.write(`${copied} copied (${groups} groups), ${present} there already, all compared.\n`);
    if (damaged > 0) process.stdout.write(`${damaged} groups were damaged before, and are so in the copy.\n`);
  }
  if (done.different.length === 0) return;
  throw new CommandError(`These sessions are in ${to.name} with another content: ${done.different.join(", ")}.`);
}

type Store = { readonly kind: "sqlite"; readonly folder: string } | { readonly kind: "postgres"; readonly url: string };

/** The text is not repeated in a refusal: it may be an address. */
function parse(text: string, { data, databaseUrl }: LoadedSettings): Store {
  const [kind, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (kind === "sqlite") return { kind, folder: rest === "" ? data : resolve(rest) };
  if (kind !== "postgres" && kind !== "postgresql") {
    throw new UsageError("A store is written sqlite:FOLDER or postgres: (with the URL in FRANCA_DATABASE_URL).");
  }
  const url = rest === "" ? databaseUrl : text;
  if (url !== null) return { kind: "postgres", url };
  throw new ApiError("invalid_request", "postgres: needs FRANCA_DATABASE_URL, --database-url-file or databaseUrl.");
}

async function open(store: Store, folder: string): Promise<CopyDatabase> {
  if (store.kind === "sqlite") return (await import("../runtime/log/copy/sqlite.ts")).openSqliteSide(store.folder);
  const { openPostgresSide } = await import("../runtime/log/copy/postgres.ts");
  return openPostgresSide({ url: store.url, home: ensureHostId(folder), folder });
}
