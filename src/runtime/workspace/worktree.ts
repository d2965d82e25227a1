/** A git worktree for one session: made, and removed when its work is saved elsewhere or not wanted. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import type { RemovedWorktree, WorktreeRequest } from "../../protocol/workspaces.ts";
import { runGit } from "../git.ts";
import { changesSince } from "./diff.ts";
import type { WorktreeEntry, WorktreeRegistry } from "./registry.ts";

export interface MakeOptions {
  readonly sessionId: string;
  /** In the repository; the session then works at the same place of the worktree. */
  readonly directory: string;
  readonly asked: WorktreeRequest;
  /** Where worktrees are made. */
  readonly folder: string;
}

export interface Made {
  readonly entry: WorktreeEntry;
  readonly directory: string;
}

export async function makeWorktree({ sessionId, directory, asked, folder }: MakeOptions): Promise<Made> {
  const repository = await topOf(directory);
  const base = await headOf(repository);
  const mark = createHash("sha256").update(sessionId).digest("hex").slice(0, 8);
  const branch = asked === true ? `franca/${mark}` : asked;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(realpathSync(folder), `${basename(repository).replaceAll(/[^\w.-]/g, "-")}-${mark}`);
  if (existsSync(path)) throw refused(`${path} exists already: remove it first.`);
  const known = await hasBranch(repository, branch);
  const place = known ? [path, branch] : ["-b", branch, path, base];
  await runGit(repository, ["worktree", "add", "--quiet", ...place]).catch((error: unknown) => {
    throw refused(`git made no worktree for the branch ${branch}: ${reasonOf(error)}`, error);
  });
  const began = known ? (await runGit(path, ["rev-parse", "HEAD"])).trim() : base;
  const entry = { sessionId, path, branch, repository, base: began, ownBranch: !known };
  return { entry, directory: placeIn(path, relative(repository, realpathSync(directory))) };
}

/** A folder that is not committed does not exist in the worktree: the session then works at its top. */
function placeIn(path: string, inside: string): string {
  const place = join(path, inside);
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true ? place : path;
}

async function topOf(directory: string): Promise<string> {
  const top = await runGit(directory, ["rev-parse", "--show-toplevel"]).catch((error: unknown) => {
    throw refused(`${directory} is in no git repository, so there can be no worktree of it.`, error);
  });
  return realpathSync(top.replace(/\n$/, ""));
}

async function headOf(repository: string): Promise<string> {
  const head = await runGit(repository, ["rev-parse", "--verify", "HEAD^{commit}"]).catch((error: unknown) => {
    throw refused(`${repository} has no commit yet, so there can be no worktree of it.`, error);
  });
  return head.trim();
}

const hasBranch = (repository: string, branch: string): Promise<boolean> =>
  runGit(repository, ["show-ref", "--verify", "--quiet", `refs/heads/${branch}`]).then(
    () => true,
    () => false,
  );

const refused = (message: string, cause?: unknown): ApiError => new ApiError("invalid_request", message, { cause });

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export interface RemoveOptions {
  readonly registry: WorktreeRegistry;
  readonly entry: WorktreeEntry;
  /** Also where something would be lost. */
  readonly force: boolean;
}

/** What is not committed would be lost, so it is refused without `force`. Commits stay on their branch. */
export async function removeWorktree({ registry, entry, force }: RemoveOptions): Promise<RemovedWorktree> {
  const { path, branch, repository, base, ownBranch, sessionId } = entry;
  const isThere = existsSync(path);
  const { files, commits, uncommitted } = isThere ? await changesSince(path, base) : NOTHING;
  if (uncommitted > 0 && !force) {
    throw new ApiError(
      "worktree_changed",
      `${path} has ${uncommitted} changed files that are not committed: commit them, or remove it with force.`,
    );
  }
  if (isThere) await discard(repository, path);
  await runGit(repository, ["worktree", "prune"]).catch(() => {});
  const kept = !(ownBranch && commits === 0 && (await deleteBranch({ repository, branch, base })));
  registry.remove(sessionId);
  return { path, branch, branchKept: kept, files, commits };
}

const NOTHING = { files: [], commits: 0, uncommitted: 0 };

/** Where the repository is gone there is nothing to deregister, and only the folder is left. */
async function discard(repository: string, path: string): Promise<void> {
  if (existsSync(repository)) await runGit(repository, ["worktree", "remove", "--force", "--force", path]);
  else rmSync(path, { recursive: true, force: true });
}

/** Only while it still points to where it began. */
const deleteBranch = ({ repository, branch, base }: { repository: string; branch: string; base: string }) =>
  runGit(repository, ["update-ref", "-d", `refs/heads/${branch}`, base]).then(
    () => true,
    () => false,
  );

/** The folder beside the data folder: inside it, every file would count as one of the data folder. */
export const worktreeFolder = (data: string): string => join(dirname(data), `${basename(data)}-worktrees`);
