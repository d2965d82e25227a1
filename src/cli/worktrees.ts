/** `franca worktrees`: git worktrees that were made for sessions, and removing them. */
import type { Command } from "commander";
import { visible } from "../core/visible.ts";
import { ApiError } from "../protocol/errors.ts";
import { statText } from "./diff.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { shortId } from "./session-id.ts";
import { printJson, table } from "./table.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command.command("list", { isDefault: true }))
    .description("list worktrees, with what changed in them (default)")
    .option("--json", "as JSON")
    .action((flags: object) => withDoor({ ...flags }, list));
  addDoorOptions(command.command("remove <session>"))
    .description("remove a session's worktree; commits stay on their branch")
    .option("--force", "also with changes that are not committed: they are lost")
    .option("--json", "as JSON")
    .action((session: string, flags: object) => withDoor({ ...flags }, (door, given) => remove(door, session, given)));
  command.addHelpText("after", "\nExamples:\n  $ franca worktrees\n  $ franca worktrees remove 7f3c");
}

async function withDoor(flags: Flags, work: (door: Door, flags: Flags) => Promise<void>): Promise<void> {
  const door = await openDoor({ flags, env: process.env });
  try {
    await work(door, flags);
  } finally {
    await door.close();
  }
}

async function list(door: Door, flags: Flags): Promise<void> {
  const worktrees = await door.worktrees();
  if (flags.json === true) return printJson({ worktrees });
  if (worktrees.length === 0) {
    process.stdout.write('No worktrees. A session gets one with: franca run --worktree -- "…"\n');
    return;
  }
  const rows = worktrees.map(({ sessionId, branch, path, files, commits }) => [
    shortId(sessionId),
    branch,
    String(files.length),
    String(commits),
    path,
  ]);
  process.stdout.write(table([["SESSION", "BRANCH", "FILES", "COMMITS", "PATH"], ...rows]));
}

async function remove(door: Door, named: string, flags: Flags): Promise<void> {
  const found = (await door.worktrees()).filter(({ sessionId }) => sessionId.startsWith(named));
  const [first] = found.filter(({ sessionId }) => found.length === 1 || sessionId === named);
  if (first === undefined) throw new ApiError("worktree_not_found", `There is no one worktree of a session ${named}.`);
  const removed = await door.removeWorktree(first.sessionId, { force: flags.force === true });
  if (flags.json === true) return printJson(removed);
  const branch = removed.branchKept ? `the branch ${removed.branch} is kept` : `the branch ${removed.branch} too`;
  process.stdout.write(`Removed: ${visible(removed.path)} (${branch})\n${statText(removed.files)}`);
}
