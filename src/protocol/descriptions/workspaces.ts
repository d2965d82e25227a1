/** What each field of worktrees and diffs means. */
import type * as workspaces from "../workspaces.ts";
import type { Fields } from "./fields.ts";

const worktree: Fields<workspaces.Worktree> = {
  path: "Where it is.",
  branch: "The branch that is checked out there.",
  repository: "The repository's own folder.",
  base: "The commit it began with.",
};

const changes = {
  files: "What differs from `base`, files that are not committed included.",
  commits: "How many commits were made since `base`.",
};

export const workspaceTypes = {
  Worktree: worktree,
  DiffFile: {
    path: "The file, from the top of the worktree or folder.",
    status: "What happened to it.",
    added: "Lines added; null where that is not known, as for binary files.",
    removed: "Lines removed; null where that is not known.",
  } satisfies Fields<workspaces.DiffFile>,
  SessionDiff: {
    source:
      "`worktree`: all that changed since the session's worktree was made. `folder`: what is not committed in the " +
      "session's folder, by whomever. `events`: what the agent reported, where there is no git or no trust.",
    base: "The commit that is compared with; null for `events`.",
    files: "The changed files.",
    diff: "The changes in unified form.",
    truncated: "Whether `diff` was too long and was cut.",
  } satisfies Fields<workspaces.SessionDiff>,
  SessionWorktree: {
    ...worktree,
    sessionId: "The session it was made for.",
    ...changes,
  } satisfies Fields<workspaces.SessionWorktree>,
  WorktreeList: {
    worktrees: "All worktrees that were made for sessions and not removed.",
  } satisfies Fields<workspaces.WorktreeList>,
  RemovedWorktree: {
    path: "Where it was.",
    branch: "Its branch.",
    branchKept: "Whether the branch is still there: one with commits of its own, or that existed before, is kept.",
    ...changes,
  } satisfies Fields<workspaces.RemovedWorktree>,
};
