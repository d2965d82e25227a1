/** The command line: a table of commands, of which only the one that was asked for is loaded. */
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { ApiError } from "../protocol/errors.ts";
import { CommandError, UsageError } from "./usage.ts";

/** What a command's file exports: it adds options, arguments and the action to the command it is given. */
export interface CommandModule {
  readonly define: (command: Command) => void;
}

interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

/** In the order of `franca --help`. One line per command, one file per command. */
const commands: readonly CommandEntry[] = [
  {
    name: "convert",
    summary: "Translate an agent's recorded stream into another dialect",
    load: () => import("./convert.ts"),
  },
  { name: "lint", summary: "Check a stream of events against the rules", load: () => import("./lint.ts") },
];

/** Exit codes that every command shares. A command sets its own through `process.exitCode`. */
const FAILED = 1;
const USAGE = 2;

export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command("franca");
  program
    .description("One event language and one exact turn lifecycle for every coding agent.")
    .version(packageVersion())
    .helpCommand(true)
    .exitOverride()
    .showHelpAfterError("(add --help for the options)");
  const asked = argv.find((argument) => !argument.startsWith("-"));
  const named = asked === "help" ? argv[argv.indexOf("help") + 1] : asked;
  for (const entry of commands) {
    const command = program.command(entry.name).description(entry.summary);
    if (entry.name === named) (await entry.load()).define(command);
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    process.exitCode = exitCode(error);
  }
}

function exitCode(error: unknown): number {
  // Commander has said it already; its own exit code for wrong usage is 1, which is ours for a failure.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  const isOurs = error instanceof UsageError || error instanceof CommandError || error instanceof ApiError;
  if (!isOurs) throw error;
  process.stderr.write(`franca: ${error.message}\n`);
  return error instanceof UsageError ? USAGE : FAILED;
}

function packageVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed === "object" && parsed !== null && "version" in parsed) return String(parsed.version);
  return "unknown";
}
