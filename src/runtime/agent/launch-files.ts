/**
 * Files that are passed to an agent by path (core/launch.ts), in a folder of this user alone. Its name follows from the
 * run, which nobody can guess, so that it is found again by the guard and at the next start.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Argument } from "../../core/launch.ts";

/** The command line, with files written for the arguments that are not to be shown on it. */
export function writeArguments(runId: string, args: readonly Argument[]): string[] {
  const folder = folderOf(runId);
  // Not recursive: a folder that is there already is somebody else's, and is refused.
  if (args.some((argument) => typeof argument !== "string")) mkdirSync(folder, { mode: 0o700 });
  return args.map((argument) => {
    if (typeof argument === "string") return argument;
    const path = join(folder, argument.file);
    writeFileSync(path, argument.content, { mode: 0o600, flag: "wx" });
    return path;
  });
}

export const removeLaunchFiles = (runId: string): void => rmSync(folderOf(runId), { recursive: true, force: true });

const folderOf = (runId: string): string => join(tmpdir(), `franca-launch-${runId}`);
