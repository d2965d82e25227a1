/** The sessions of one comparison: followed live, with what each changed in its files, and which worktrees are left. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Comparison, comparisonOf } from "../../src/protocol/comparison.ts";
import type { DiffFile, SessionDiff } from "../../src/protocol/workspaces.ts";
import { type Beginning, beginningOf } from "../model/compared.ts";
import { attempt } from "./actions.ts";
import { daemon, link } from "./link.ts";
import { follow, unfollow } from "./session.ts";
import { allRows, type SessionRow } from "./sessions.ts";
import type { SessionStore } from "./store.ts";

export interface Contestant {
  readonly row: SessionRow;
  readonly comparison: Comparison;
}

/** In the order in which the person named them. */
export const contestantsOf = (id: string): ReadonlySignal<readonly Contestant[]> =>
  computed(() =>
    allRows.value
      .flatMap((row) => {
        const comparison = comparisonOf(row.metadata);
        return comparison?.id === id ? [{ row, comparison }] : [];
      })
      .sort((a, b) => a.comparison.position - b.comparison.position),
  );

export interface Work {
  readonly store: SessionStore;
  /** Null until it was read. */
  readonly diff: Signal<SessionDiff | null>;
  /** Null until its first turn began. */
  readonly beginning: Signal<Beginning | null>;
  readonly close: () => void;
}

export function openWork(id: string): Work {
  const store = follow(id);
  return { store, diff: signal(null), beginning: signal(null), close: () => void unfollow(store) };
}

/** The start of the session and its prompt are among so many events. */
const HEAD = 50;

export async function readBeginning({ store, beginning }: Pick<Work, "store" | "beginning">): Promise<void> {
  const page = await attempt(() => daemon().session(store.id).listEvents({ offset: 0, limit: HEAD }));
  if (page !== null) beginning.value = beginningOf(page.events);
}

/** The last answer stays where a later one fails: a worktree may just be removed. */
export async function readDiff({ store, diff }: Pick<Work, "store" | "diff">): Promise<void> {
  if (link.value.state !== "live") return;
  try {
    diff.value = await daemon().session(store.id).diff();
  } catch {
    // The session's own state says what is wrong with it.
  }
}

/** Sessions whose worktree is still there; null until that is known. */
export const worktrees = signal<ReadonlySet<string> | null>(null);

export async function readWorktrees(): Promise<void> {
  const found = await attempt(() => daemon().worktrees());
  if (found !== null) worktrees.value = new Set(found.map(({ sessionId }) => sessionId));
}

/** Removes the worktrees of the others, with what is in them: as `franca compare` does. */
export async function keepOnly(kept: string, contestants: readonly Contestant[]): Promise<void> {
  const others = contestants.filter(({ row }) => row.sessionId !== kept && worktrees.value?.has(row.sessionId));
  for (const { row } of others) {
    await attempt(() => daemon().removeWorktree(row.sessionId, { force: true }));
  }
  await readWorktrees();
}

export function lineCount(files: readonly DiffFile[]): { readonly added: number; readonly removed: number } {
  const sum = (key: "added" | "removed"): number => files.reduce((total, file) => total + (file[key] ?? 0), 0);
  return { added: sum("added"), removed: sum("removed") };
}
