/** What a repository says about itself: its branch from its own files, its changes from git, if there is one. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { git } from "../../runtime/git.ts";
import type { OpenCodeCall } from "./route.ts";

/** The root of the repository that a directory is in; null where it is in none. */
export function repositoryOf(directory: string): string | null {
  for (let at = directory; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return null;
  }
}

export async function branchOf(directory: string): Promise<string | null> {
  const head = await readFile(join(directory, ".git", "HEAD"), "utf8").catch(() => null);
  return /^ref: refs\/heads\/(.+)$/m.exec(head ?? "")?.[1]?.trim() ?? null;
}

const plain = ["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"] as const;

export interface ChangedFile {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly status: "added" | "deleted" | "modified";
}

/** Empty where there is no repository, no commit yet, no git, or no trust: then git does not run at all. */
export async function gitStatus({ directory, sessions }: OpenCodeCall): Promise<ChangedFile[]> {
  if (!sessions.trust.isTrusted(directory) || (await branchOf(directory)) === null) return [];
  const [numbers, names, fresh] = await Promise.all([
    git(directory, ["diff", ...plain, "--numstat", "HEAD"]),
    git(directory, ["diff", ...plain, "--name-status", "HEAD"]),
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
