/** What a repository says about itself: its branch from its own files, its changes from git, if there is one. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const GIT_MS = 3_000;
const MAX_OUTPUT = 4 * 1024 * 1024;

export async function branchOf(directory: string): Promise<string | null> {
  const head = await readFile(join(directory, ".git", "HEAD"), "utf8").catch(() => null);
  return /^ref: refs\/heads\/(.+)$/m.exec(head ?? "")?.[1]?.trim() ?? null;
}

export interface ChangedFile {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly status: "added" | "deleted" | "modified";
}

/** Empty where there is no repository, no commit yet, or no git. */
export async function gitStatus(directory: string): Promise<ChangedFile[]> {
  if ((await branchOf(directory)) === null) return [];
  const [numbers, names, fresh] = await Promise.all([
    git(directory, ["diff", "--numstat", "HEAD"]),
    git(directory, ["diff", "--name-status", "HEAD"]),
    git(directory, ["ls-files", "--others", "--exclude-standard"]),
  ]);
  const statuses = new Map(names.map((line) => line.split("\t")).map(([status = "", path = ""]) => [path, status]));
  const changed = numbers.map((line): ChangedFile => {
    const [added = "0", removed = "0", path = ""] = line.split("\t");
    const status = statuses.get(path) ?? "M";
    const known = status.startsWith("A") ? "added" : status.startsWith("D") ? "deleted" : "modified";
    return { path, added: Number(added) || 0, removed: Number(removed) || 0, status: known };
  });
  return [...changed, ...fresh.map((path): ChangedFile => ({ path, added: 0, removed: 0, status: "added" }))];
}

async function git(directory: string, args: readonly string[]): Promise<string[]> {
  const options = { cwd: directory, timeout: GIT_MS, maxBuffer: MAX_OUTPUT, env: { PATH: process.env.PATH } };
  const result = await run("git", ["--no-optional-locks", ...args], options).catch(() => null);
  return (result?.stdout ?? "").split("\n").filter((line) => line !== "");
}
