/** Worktrees that sessions have of their own, and what a session changed in its files. */
import * as z from "zod";

/** `true` for a branch with a name of ours, or the branch's name: one that exists is checked out, another is made. */
export const WorktreeRequest = z.union([
  z.literal(true),
  z
    .string()
    .max(200)
    .regex(/^(?![-./])[\w./+@-]+$/, "a branch is letters, digits, `.`, `/`, `_` and `-`, and does not begin with `-`"),
]);
export type WorktreeRequest = z.infer<typeof WorktreeRequest>;

export const Worktree = z.object({
  path: z.string(),
  branch: z.string(),
  repository: z.string(),
  base: z.string(),
});
export type Worktree = z.infer<typeof Worktree>;

export const DiffFile = z.object({
  path: z.string(),
  status: z.enum(["added", "modified", "deleted"]),
  added: z.number().int().nullable(),
  removed: z.number().int().nullable(),
});
export type DiffFile = z.infer<typeof DiffFile>;

export const SessionDiff = z.object({
  source: z.enum(["worktree", "folder", "events"]),
  base: z.string().nullable(),
  files: z.array(DiffFile).readonly(),
  diff: z.string(),
  truncated: z.boolean(),
});
export type SessionDiff = z.infer<typeof SessionDiff>;

export const SessionWorktree = Worktree.extend({
  sessionId: z.string(),
  files: z.array(DiffFile).readonly(),
  commits: z.number().int(),
});
export type SessionWorktree = z.infer<typeof SessionWorktree>;
export const WorktreeList = z.object({ worktrees: z.array(SessionWorktree).readonly() });
export type WorktreeList = z.infer<typeof WorktreeList>;

export const RemovedWorktree = z.object({
  path: z.string(),
  branch: z.string(),
  branchKept: z.boolean(),
  files: z.array(DiffFile).readonly(),
  commits: z.number().int(),
});
export type RemovedWorktree = z.infer<typeof RemovedWorktree>;
