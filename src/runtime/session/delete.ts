/** Deleting sessions: one by id, those that nobody has used for long, and one whose creation failed. */
import type { Snapshot } from "../../core/snapshot.ts";
import { hasCode } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { RecordPage } from "../log/contract.ts";
import type { DeleteOptions, PruneOptions } from "./contract.ts";
import { closeSession, type OpenSession, type OpenSessions } from "./open-session.ts";
import { withAnySession } from "./open-sessions.ts";
import { isDeadOwner, isOwn } from "./owner.ts";
import { endIdle, terminate } from "./turn-commands.ts";

const PRUNED_AT_ONCE = 500;

export async function deleteSession(
  table: OpenSessions,
  id: SessionId,
  { idleSince }: DeleteOptions = {},
): Promise<void> {
  if (idleSince !== undefined) return deleteIdle(table, id, ({ time }) => Date.parse(time) <= idleSince);
  return deleteEnded(table, id, (open) => terminate(table.runtime, open));
}

/** It is ended where prompts arrive, so that none is acknowledged and then lost. */
const deleteIdle = (
  table: OpenSessions,
  id: SessionId,
  isUnchanged: (now: Pick<Snapshot, "time" | "sequence">) => boolean,
): Promise<void> => deleteEnded(table, id, (open) => endIdle(open, isUnchanged));

async function deleteEnded(
  table: OpenSessions,
  id: SessionId,
  end: (open: OpenSession) => Promise<void>,
): Promise<void> {
  try {
    await withAnySession(table, id, end);
  } catch (error) {
    // A session whose agent is unknown here has nothing to stop. And where there is no room to store its end, it is
    // deleted without it: deleting is how room is made.
    if (!hasCode(error, "unsupported_agent", "storage_error")) throw error;
  }
  await deleteStored(table, id);
}

/** For their size, only sessions are deleted that nobody has used for this long: a person may be reading the others. */
const IN_USE_MS = 3_600_000;

/** Idle sessions, the oldest first. One that works, waits for a person or has prompts in its queue is never deleted. */
export async function pruneSessions(
  table: OpenSessions,
  {
    olderThanMs = Number.POSITIVE_INFINITY,
    maxBytes = Number.POSITIVE_INFINITY,
    limit = Number.POSITIVE_INFINITY,
  }: PruneOptions,
): Promise<readonly SessionId[]> {
  const { log, system } = table.runtime;
  const now = system.wall();
  const pruned: SessionId[] = [];
  for (const idle of await idleSessions(table)) {
    const { id, changedAt } = idle;
    const isOld = changedAt < now - olderThanMs;
    const isTooMuch = changedAt < now - IN_USE_MS && log.size() > maxBytes;
    if (pruned.length >= limit || (!isOld && !isTooMuch)) break;
    if (await pruneIdle(table, idle)) pruned.push(id);
  }
  return pruned;
}

interface Idle {
  readonly id: SessionId;
  readonly changedAt: number;
  /** Its last event. */
  readonly sequence: number;
}

async function idleSessions({ runtime: { log, owner: own } }: OpenSessions): Promise<readonly Idle[]> {
  const idle: Idle[] = [];
  let place: number | null = null;
  do {
    const page: RecordPage = await log.list({ status: "idle", before: place, limit: PRUNED_AT_ONCE });
    for (const { id, summary, owner } of page.records) {
      const isElsewhere = owner !== null && !isOwn(owner, own) && !isDeadOwner(owner);
      if (!isElsewhere) idle.push({ id, changedAt: Date.parse(summary.updatedAt), sequence: summary.lastSequence });
    }
    place = page.next;
  } while (place !== null);
  // Listed the newest first; of two that changed in the same millisecond, the one that was made first is older.
  return idle.reverse().sort((one, other) => one.changedAt - other.changedAt);
}

/** False when it is used after all. */
async function pruneIdle(table: OpenSessions, { id, sequence }: Idle): Promise<boolean> {
  try {
    await deleteIdle(table, id, (now) => now.sequence === sequence);
    return true;
  } catch (error) {
    if (hasCode(error, "session_busy", "session_not_found", "session_owned")) return false;
    throw error;
  }
}

/** The session and everything stored about it. */
export async function deleteStored({ runtime, sessions }: OpenSessions, id: SessionId): Promise<void> {
  const open = await sessions.get(id)?.catch(() => undefined);
  if (open !== undefined) closeSession(open);
  sessions.delete(id);
  await open?.shell?.stop({ silently: true });
  await open?.link.stopSilently();
  await runtime.log.delete(id);
  runtime.keys.drop(id);
  runtime.tail.remove(id);
  await runtime.options.onDeleted?.(id);
}
