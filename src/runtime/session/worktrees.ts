/** Sessions with a git worktree of their own, and what sessions changed in files. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { SessionDiff, SessionWorktree } from "../../protocol/workspaces.ts";
import { runGit } from "../git.ts";
import { changesSince, diffByEvents, diffByGit } from "../workspace/diff.ts";
import type { WorktreeEntry } from "../workspace/registry.ts";
import { type Made, makeWorktree, removeWorktree, worktreeFolder } from "../workspace/worktree.ts";
import type { Sessions } from "./contract.ts";
import type { OpenSessions } from "./open-session.ts";
import { refuseElsewhere } from "./owner.ts";
import type { Runtime } from "./runtime.ts";

/** Makes the worktree and lists it, so that trust follows its repository from the first moment. */
export async function openWorktree(
  { worktrees, options }: Runtime,
  asked: { readonly sessionId: SessionId; readonly directory: string; readonly worktree: true | string },
): Promise<Made> {
  const { store } = options;
  if (worktrees.find(asked.sessionId) !== null) {
    throw new ApiError("session_already_exists", `There is a worktree of a session ${asked.sessionId} already.`);
  }
  const folder =
    store.kind === "memory" ? mkdtempSync(join(tmpdir(), "franca-worktrees-")) : worktreeFolder(store.folder);
  const made = await makeWorktree({ ...asked, asked: asked.worktree, folder });
  worktrees.add(made.entry);
  return made;
}

/** After a creation that failed: nothing was done in it. */
export async function dropWorktree({ worktrees }: Runtime, entry: WorktreeEntry): Promise<void> {
  await removeWorktree({ registry: worktrees, entry, force: true }).catch(() => {});
}

export type Worktrees = Pick<Sessions, "diff" | "worktrees" | "removeWorktree">;

export function worktreeCommands(table: OpenSessions): Worktrees {
  const { worktrees, log } = table.runtime;
  return {
    diff: (id) => diffOf(table.runtime, id),
    async worktrees() {
      const listed = worktrees.list().map(async ({ ownBranch: _, ...entry }): Promise<SessionWorktree> => {
        // One that somebody removed by hand is shown without changes.
        const changes = await changesSince(entry.path, entry.base).catch(() => null);
        return { ...entry, files: changes?.files ?? [], commits: changes?.commits ?? 0 };
      });
      return Promise.all(listed);
    },
    async removeWorktree(id, { force }) {
      await refuseElsewhere(table.runtime, id);
      const entry = worktrees.find(id);
      if (entry === null) throw new ApiError("worktree_not_found", `There is no worktree of a session ${id}.`);
      const record = await log.find(id);
      if (record !== null && record.summary.status !== "idle") {
        throw new ApiError("session_busy", `Session ${id} works in its worktree: abort its turn first.`);
      }
      return removeWorktree({ registry: worktrees, entry, force });
    },
  };
}

async function diffOf(runtime: Runtime, id: SessionId): Promise<SessionDiff> {
  await refuseElsewhere(runtime, id);
  const { log, worktrees, trust } = runtime;
  const record = await log.find(id);
  if (record === null) throw new ApiError("session_not_found", `There is no session ${id}.`);
  const own = worktrees.find(id);
  if (own !== null) {
    return diffByGit(own.path, { source: "worktree", base: own.base }).catch(() => diffByEvents(log, id, own.path));
  }
  const { directory = "" } = record.settings.create;
  const base = trust.isTrusted(directory)
    ? await runGit(directory, ["rev-parse", "--verify", "HEAD^{commit}"]).catch(() => null)
    : null;
  if (base === null) return diffByEvents(log, id, directory);
  const top = (await runGit(directory, ["rev-parse", "--show-toplevel"])).replace(/\n$/, "");
  return diffByGit(top, { source: "folder", base: base.trim() });
}
