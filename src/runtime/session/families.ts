/**
 * Families: a session, those that its agent has started, and those that these have started. What all of them use counts
 * in the budget of each.
 */
import type { SessionId } from "../../protocol/ids.ts";
import type { EventLog, SessionSettings } from "../log/contract.ts";

const PAGE = 1_000;

export interface Member {
  readonly id: SessionId;
  readonly settings: SessionSettings;
}

export interface Families {
  /** All others of its family; null when it has none. */
  readonly othersOf: (open: Member) => Promise<ReadonlySet<string> | null>;
  /** An agent of this family has started a session. */
  readonly add: (root: SessionId, id: SessionId) => void;
  /** Whether there are any. */
  readonly any: () => boolean;
}

export function openFamilies(log: EventLog): Families {
  const members = new Map<SessionId, Set<SessionId>>();
  const roots = new Map<SessionId, SessionId>();
  const add = (root: SessionId, id: SessionId): void => {
    const family = members.get(root) ?? new Set([root]);
    members.set(root, family.add(id));
    roots.set(root, root).set(id, root);
  };
  let stored: Promise<void> | null = null;
  return {
    async othersOf({ id, settings: { delegation, create } }) {
      if (delegation === undefined && (create.delegate ?? false) === false) return null;
      stored ??= readStored(log, add).catch((error: unknown) => {
        // The next call reads again.
        stored = null;
        throw error;
      });
      await stored;
      const root = roots.get(id);
      const family = root === undefined ? undefined : members.get(root);
      return family === undefined ? null : new Set([...family].filter((one) => one !== id));
    },
    add,
    any: () => members.size > 0,
  };
}

/** What earlier runs have left in the log. */
async function readStored(log: EventLog, add: Families["add"]): Promise<void> {
  for (let before: number | null = null; ; ) {
    const { records, next }: Awaited<ReturnType<typeof log.list>> = await log.list({ before, limit: PAGE });
    for (const { id, settings } of records) if (settings.delegation !== undefined) add(settings.delegation.root, id);
    if (next === null) return;
    before = next;
  }
}
