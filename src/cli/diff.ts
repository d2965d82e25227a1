/** `franca diff`: what a session changed in files. */
import type { Command } from "commander";
import { clean } from "../projections/text/index.ts";
import type { DiffFile, SessionDiff } from "../protocol/workspaces.ts";
import { addDoorOptions, openDoor } from "./door.ts";
import { sessionNamed } from "./session-id.ts";
import { printJson, table } from "./table.ts";

interface Flags {
  readonly stat?: true;
  readonly json?: true;
}

export function define(command: Command): void {
  addDoorOptions(
    command
      .argument("<session>", "its id, or the beginning of it")
      .option("--stat", "only the files, with lines added and removed")
      .option("--json", "as JSON"),
  )
    .addHelpText(
      "after",
      `
Of a session with a worktree (franca run --worktree), everything since that was made. Else what is not committed in its
folder, where that is trusted and in a git repository; else the changes that the agent reported.

Examples:
  $ franca diff 7f3c
  $ franca diff 7f3c | git apply`,
    )
    .action((session: string, flags: Flags) => show(session, flags));
}

async function show(session: string, flags: Flags): Promise<void> {
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  try {
    const diff = await door.diff(await sessionNamed(door, session));
    if (flags.json === true) return printJson(diff);
    process.stderr.write(sourceText(diff));
    process.stdout.write(flags.stat === true ? statText(diff.files) : diffText(diff));
    if (diff.truncated && flags.stat !== true) process.stderr.write("franca: the diff is longer and was cut.\n");
  } finally {
    await door.close();
  }
}

/** A file may hold what a terminal would obey; a pipe gets the bytes as they are. */
const diffText = ({ diff }: SessionDiff): string => (process.stdout.isTTY ? clean(diff) : diff);

function sourceText({ source, base, files }: SessionDiff): string {
  const count = `${files.length} ${files.length === 1 ? "file" : "files"}`;
  switch (source) {
    case "worktree":
      return `franca: ${count} changed since ${base?.slice(0, 8)}, where the worktree began\n`;
    case "folder":
      return `franca: ${count} not committed in the session's folder, by anybody\n`;
    case "events":
      return `franca: ${count} changed, as the agent reported it\n`;
  }
}

export function statText(files: readonly DiffFile[]): string {
  if (files.length === 0) return "";
  const shown = (sign: string, count: number | null): string => (count === null ? "" : `${sign}${count}`);
  return table(files.map(({ path, status, added, removed }) => [status, path, shown("+", added), shown("-", removed)]));
}
