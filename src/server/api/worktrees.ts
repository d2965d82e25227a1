/** Routes about what sessions changed in files, and about the git worktrees that were made for them. */
import * as z from "zod";
import { defineRoute, json, type Route, sessionOf } from "../http/route.ts";

const diff = defineRoute({
  method: "get",
  path: "/v1/sessions/{id}/diff",
  access: "read",
  doc: {
    id: "diffSession",
    tag: "Sessions",
    summary: "Show what a session changed",
    description:
      "Of a session with a worktree, everything since that was made. Else what is not committed in its folder, where " +
      "that is trusted and in a git repository; else the changes that the agent reported.",
    errors: ["session_not_found"],
    answers: "json",
  },
  answer: "SessionDiff",
  handle: async (call) => json(await call.sessions.diff(sessionOf(call))),
});

const list = defineRoute({
  method: "get",
  path: "/v1/worktrees",
  access: "read",
  doc: {
    id: "listWorktrees",
    tag: "Sessions",
    summary: "List worktrees of sessions",
    description: "Also of sessions that were deleted: a worktree stays until it is removed.",
    errors: [],
    answers: "json",
  },
  answer: "WorktreeList",
  handle: async ({ sessions }) => json({ worktrees: await sessions.worktrees() }),
});

const remove = defineRoute({
  method: "delete",
  path: "/v1/worktrees/{id}",
  access: "delete",
  doc: {
    id: "removeWorktree",
    tag: "Sessions",
    summary: "Remove a session's worktree",
    description:
      "Answers with what was in it. Commits stay on their branch; a branch of ours without commits is deleted. Changes " +
      "that are not committed are lost, and need `force`.",
    errors: ["worktree_not_found", "worktree_changed", "session_busy"],
    answers: "json",
  },
  query: z.strictObject({ force: z.enum(["true", "false"]).optional().describe("`true`: also with such changes.") }),
  answer: "RemovedWorktree",
  handle: async (call) =>
    json(await call.sessions.removeWorktree(sessionOf(call), { force: call.query.force === "true" })),
});

export const worktreeRoutes: readonly Route[] = [diff, list, remove];
