/** The command line: a table of commands, of which only the one that was asked for is loaded. */

import { Command, CommanderError } from "commander";
import { visible } from "../core/visible.ts";
import { ApiError } from "../protocol/errors.ts";
import { ImpostorError } from "../sdk/credential.ts";
import { UnreachableError } from "../sdk/http.ts";
import { version } from "../server/version.ts";
import type { CommandModule } from "./command.ts";
import { CommandError, UsageError } from "./usage.ts";

interface CommandEntry {
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
  /** Not in the list of `franca --help`. */
  readonly hidden?: true;
}

/** In the order of `franca --help`. One line per command, one file per command. */
const commands: readonly CommandEntry[] = [
  { name: "run", summary: "Ask an agent something and watch it work", load: () => import("./run.ts") },
  { name: "serve", alias: "server", summary: "Start the daemon", load: () => import("./serve.ts") },
  { name: "daemon", summary: "Start, stop or find the daemon in the background", load: () => import("./daemon.ts") },
  { name: "logs", summary: "Print the log of the daemon in the background", load: () => import("./logs.ts") },
  { name: "open", summary: "Print a link that logs a browser in to the daemon", load: () => import("./open.ts") },
  { name: "token", summary: "Print the daemon's token, or revoke page logins", load: () => import("./token.ts") },
  {
    name: "hosts",
    summary: "List and drain the hosts that share one log on Postgres",
    load: () => import("./hosts.ts"),
  },
  { name: "trust", summary: "List, add and remove trusted folders", load: () => import("./trust.ts") },
  { name: "webhooks", summary: "List, add, remove and retry webhooks", load: () => import("./webhooks.ts") },
  {
    name: "attach",
    summary: "Follow a session in the terminal and send it prompts",
    load: () => import("./attach.ts"),
  },
  { name: "opencode", summary: "Open OpenCode's TUI on any agent", load: () => import("./opencode.ts") },
  { name: "acp", summary: "Serve any agent to an editor (Agent Client Protocol)", load: () => import("./acp.ts") },
  { name: "mcp", summary: "Serve any agent as tools (Model Context Protocol)", load: () => import("./mcp.ts") },
  {
    name: "sessions",
    summary: "List, show, export, rename, fork and delete sessions",
    load: () => import("./sessions.ts"),
  },
  { name: "compare", summary: "Give one prompt to several agents, side by side", load: () => import("./compare.ts") },
  { name: "diff", summary: "Show what a session changed in files", load: () => import("./diff.ts") },
  { name: "worktrees", summary: "List and remove worktrees of sessions", load: () => import("./worktrees.ts") },
  { name: "events", summary: "Print a session's events as JSON lines", load: () => import("./events.ts") },
  {
    name: "usage",
    summary: "Show what sessions used, by day, agent, model or folder",
    load: () => import("./usage-report.ts"),
  },
  { name: "prices", summary: "Show and set what models cost", load: () => import("./prices.ts") },
  { name: "models", summary: "List an agent's models", load: () => import("./models.ts") },
  { name: "agents", summary: "List, install and uninstall agents", load: () => import("./agents.ts") },
  {
    name: "doctor",
    summary: "Try each installed agent with a scripted model, check what is stored",
    load: () => import("./doctor.ts"),
  },
  {
    name: "backup",
    summary: "Write all sessions into one file, also while agents work",
    load: () => import("./backup.ts"),
  },
  { name: "restore", summary: "Put the sessions of a backup back", load: () => import("./restore.ts") },
  { name: "store", summary: "Copy sessions between SQLite and Postgres", load: () => import("./store.ts") },
  {
    name: "convert",
    summary: "Translate an agent's recorded stream into another dialect",
    load: () => import("./convert.ts"),
  },
  { name: "record", summary: "Run a turn and keep it as a transcript", load: () => import("./record.ts") },
  {
    name: "lanes",
    summary: "Show a recording side by side: native, universal, OpenCode, Takopi, ACP",
    load: () => import("./lanes.ts"),
  },
  { name: "lint", summary: "Check a stream of events against the rules", load: () => import("./lint.ts") },
  {
    name: "config",
    summary: "Show the settings in effect, or write a config file",
    load: () => import("./config-command.ts"),
  },
  {
    name: "completion",
    summary: "Print a completion script for bash, zsh or fish",
    load: () => import("./completion.ts"),
  },
  { name: "version", summary: "Print the version and what it runs on", load: () => import("./version.ts") },
  { name: "man", summary: "Print the manual page", load: () => import("./man.ts"), hidden: true },
];

const TOO_MANY_FILES =
  "Franca may not open more files: raise the limit, for example with `ulimit -n 1024`, and start it again.";

/** Exit codes that every command shares. A command sets its own through `process.exitCode`. */
const FAILED = 1;
const USAGE = 2;

export async function main(argv: readonly string[]): Promise<void> {
  const asked = argv.find((argument) => !argument.startsWith("-"));
  const named = asked === "help" ? argv[argv.indexOf("help") + 1] : asked;
  try {
    const program = await programWith(named);
    if (argv.length === 0) await (await import("./overview.ts")).overview();
    else await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    process.exitCode = await exitCode(await asStorageError(error));
  }
}

/** With the options of the named command, or of all when none is named. */
async function programWith(named: string | undefined | null): Promise<Command> {
  const program = new Command("franca");
  program
    .description("One event language and one exact turn lifecycle for every coding agent.")
    .version(version, "-v, --version", "print the version")
    .enablePositionalOptions()
    .helpCommand(true)
    .exitOverride()
    .showHelpAfterError("(add --help for the options)");
  for (const entry of commands) {
    const command = program.command(entry.name, { hidden: entry.hidden ?? false }).description(entry.summary);
    if (entry.alias !== undefined) command.alias(entry.alias);
    const isNamed = named !== undefined && (entry.name === named || entry.alias === named);
    if (named === null || isNamed) {
      (await entry.load()).define(command, { wholeProgram: () => programWith(null) });
    }
  }
  return program;
}

/** System limits, full disks and unwritable folders are reported in one sentence, without a stack trace. */
async function asStorageError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error && "code" in error)) return error;
  if (error.code === "EMFILE" || error.code === "ENFILE") return new CommandError(TOO_MANY_FILES, { cause: error });
  if (!["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"].includes(String(error.code))) return error;
  const { storageError } = await import("../runtime/storage-error.ts");
  return storageError("path" in error ? String(error.path) : "the data folder", error);
}

async function exitCode(error: unknown): Promise<number> {
  // Commander has said it already; its own exit code for wrong usage is 1, which is ours for a failure.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  if (error instanceof UsageError) return say(error.message, { code: USAGE });
  if (error instanceof ApiError) return say(`${error.message}${nextStep(error)} (${error.code})`, { code: FAILED });
  if (error instanceof UnreachableError) {
    return say(`${error.message}\nStart one with franca serve, or say where it is with --server.`, { code: FAILED });
  }
  if (error instanceof ImpostorError) return say(error.message, { code: FAILED });
  if (error instanceof CommandError) return say(error.message, { code: FAILED });
  const { reportCrash } = await import("./last-resort.ts");
  const { openRedactor } = await import("../runtime/redact.ts");
  const { defaultFolder } = await import("../sdk/data-folder.ts");
  const redactor = openRedactor({ token: null, environment: process.env });
  process.stderr.write(`${reportCrash(defaultFolder(), error, redactor)}\n`);
  return FAILED;
}

/** What the daemon answers to all clients; here, what to type. */
const nextStep = ({ code }: ApiError): string => (code === "session_not_found" ? " franca sessions lists them." : "");

function say(message: string, { code }: { code: number }): number {
  process.stderr.write(`franca: ${visible(message)}\n`);
  return code;
}
