/** `franca trust`: which folders may bring along what agents run, and the question before the first use of one. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { visible } from "../core/visible.ts";
import { ApiError } from "../protocol/errors.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { printJson } from "./table.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command.command("list", { isDefault: true }))
    .description("list trusted folders")
    .option("--json", "as JSON")
    .action((flags: object) => list({ ...flags }));
  addDoorOptions(command.command("add <folder>"))
    .description("let agents use the settings, hooks, plugins and MCP servers of a folder")
    .option("--force", "also for the root, the home folder and folders for temporary files")
    .action((folder: string, flags: object) => add(folder, { ...flags }));
  addDoorOptions(command.command("remove <folder>"))
    .description("stop trusting a folder")
    .action((folder: string, flags: object) => remove(folder, { ...flags }));
  command.addHelpText("after", "\nExamples:\n  $ franca trust add .\n  $ franca trust list");
}

async function withDoor(flags: Flags, work: (door: Door) => Promise<void>): Promise<void> {
  const door = await openDoor({ flags, env: process.env });
  try {
    await work(door);
  } finally {
    await door.close();
  }
}

const list = (flags: Flags): Promise<void> =>
  withDoor(flags, async (door) => {
    const { folders } = await door.trust();
    if (flags.json === true) return printJson({ folders });
    const lines = folders.map(({ path, from }) => `${visible(path)}${from === "config" ? "  (config file)" : ""}\n`);
    process.stdout.write(
      lines.length === 0 ? "No folder is trusted. To trust one: franca trust add .\n" : lines.join(""),
    );
  });

const add = (folder: string, flags: Flags): Promise<void> =>
  withDoor(flags, async (door) => {
    const path = await door.addTrust(resolve(folder), { force: flags.force === true });
    process.stdout.write(`Trusted: ${visible(path)}\n`);
  });

const remove = (folder: string, flags: Flags): Promise<void> =>
  withDoor(flags, async (door) => {
    await door.removeTrust(resolve(folder));
    process.stdout.write(`No longer trusted: ${visible(resolve(folder))}\n`);
  });

export interface TrustQuestion {
  readonly door: Door;
  readonly agent: string;
  readonly directory: string;
  /** `--trust`: yes, without a question. */
  readonly trust: boolean;
}

/**
 * Asks before an agent that uses what a folder brings along is used there for the first time. No answer, or no
 * terminal, means a restricted start.
 */
export async function settleTrust({ door, agent, directory, trust }: TrustQuestion): Promise<void> {
  const canAsk = process.stdin.isTTY && process.stderr.isTTY;
  if ((!trust && !canAsk) || (await door.trust(directory)).trusted === true) return;
  if (!trust) {
    const { adapterFor } = await import("../adapters/index.ts");
    const usesFolder = (adapterFor(agent)?.folder ?? null) !== null;
    if (!usesFolder || !(await confirmTrust(directory))) return;
  }
  try {
    await door.addTrust(directory, { force: false });
  } catch (error) {
    if (trust || !(error instanceof ApiError)) throw error;
    process.stderr.write(`${error.message} The agent starts without what the folder brings along.\n`);
  }
}

async function confirmTrust(directory: string): Promise<boolean> {
  const { confirm } = await import("@clack/prompts");
  const answer = await confirm({
    message:
      `Trust the files in ${visible(directory)}?\n` +
      "Then agents may run what it brings along: settings, hooks, plugins, MCP servers. Without trust they start restricted.",
    active: "Yes, I trust it",
    inactive: "No, start restricted",
    initialValue: false,
    output: process.stderr,
  });
  return answer === true;
}
