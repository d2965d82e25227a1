/**
 * The worktrees that were made for sessions, in a file of the data folder. Trust looks here: a worktree is trusted as
 * its repository is, and a folder cannot claim to be one, because only what is listed here counts.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { Worktree } from "../../protocol/workspaces.ts";

const Entry = Worktree.extend({
  sessionId: z.string(),
  /** The branch was made with it. */
  ownBranch: z.boolean(),
});
export type WorktreeEntry = z.infer<typeof Entry>;

export interface WorktreeRegistry {
  readonly list: () => readonly WorktreeEntry[];
  readonly find: (sessionId: string) => WorktreeEntry | null;
  /** The repository of a worktree, by its real path; null for any other folder. */
  readonly repositoryOf: (path: string) => string | null;
  readonly add: (entry: WorktreeEntry) => void;
  readonly remove: (sessionId: string) => void;
}

/** `folder` is the data folder; null keeps the list in memory. */
export function openWorktreeRegistry(folder: string | null): WorktreeRegistry {
  const store = folder === null ? memory() : file(join(folder, "worktrees.json"));
  return {
    list: store.read,
    find: (sessionId) => store.read().find((entry) => entry.sessionId === sessionId) ?? null,
    repositoryOf: (path) => store.read().find((entry) => entry.path === path)?.repository ?? null,
    add: (entry) => store.write([...store.read(), entry]),
    remove: (sessionId) => store.write(store.read().filter((entry) => entry.sessionId !== sessionId)),
  };
}

interface Store {
  readonly read: () => readonly WorktreeEntry[];
  readonly write: (entries: readonly WorktreeEntry[]) => void;
}

function memory(): Store {
  let entries: readonly WorktreeEntry[] = [];
  return {
    read: () => entries,
    write: (next) => {
      entries = next;
    },
  };
}

/** Read again at each use: other processes write it too. */
function file(path: string): Store {
  return {
    read() {
      try {
        return z.array(Entry).parse(JSON.parse(readFileSync(path, "utf8")));
      } catch {
        return [];
      }
    },
    write(entries) {
      const draft = `${path}.${process.pid}`;
      writeFileSync(draft, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 });
      renameSync(draft, path);
    },
  };
}
