/** Deleting sessions: one by id, those that nobody has used for long, and one whose creation failed. */
import { hasCode } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { RecordPage } from "../log/contract.ts";
import { closeSession, type OpenSessions } from "./open-session.ts";
import { withSession } from "./open-sessions.ts";
import { isDeadOwner, isOwn } from "./owner.ts";
import { terminate } from "./turn-commands.ts";

const PRUNED_AT_ONCE = 500;

export async function deleteSession(table: OpenSessions, id: SessionId): Promise<void> {
  try {
    await withSession(table, id, terminate);
  } catch (error) {
    // A session whose agent is unknown here has nothing to stop. And where there is no room to store its end, it is
    // deleted without it: deleting is how room is made.
    if (!hasCode(error, "unsupported_agent", "storage_error")) throw error;
  }
  await deleteStored(table, id);
}

/** Idle sessions without a change for that long. */
export async function pruneSessions(
  table: OpenSessions,
  { olderThanMs }: { olderThanMs: number },
): Promise<readonly SessionId[]> {
  const { log, owner: own } = table.runtime;
  const before = Date.now() - olderThanMs;
  const pruned: SessionId[] = [];
  let place: number | null = null;
  do {
    const page: RecordPage = await log.list({ status: "idle", before: place, limit: PRUNED_AT_ONCE });
    for (const { id, summary, owner } of page.records) {
      const isElsewhere = owner !== null && !isOwn(owner, own) && !isDeadOwner(owner);
      if (isElsewhere || Date.parse(summary.updatedAt) >= before) continue;
      await deleteSession(table, id);
      pruned.push(id);
    }
    place = page.next;
  } while (place !== null);
  return pruned;
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
