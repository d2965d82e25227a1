/** Recovery after a dead owner: its processes are stopped, its turns ended, and a daemon runs its queued prompts. */
import { hasCode } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Owner } from "../log/contract.ts";
import type { OpenSessions } from "./open-session.ts";
import { openStored } from "./open-sessions.ts";
import { isDeadOwner, isOwn } from "./owner.ts";
import { stopOrphanedRuns } from "./process-runs.ts";
import { isIdle, unload } from "./unload.ts";

export async function recover(table: OpenSessions): Promise<void> {
  const { log, options, unrecovered } = table.runtime;
  await stopOrphanedRuns(table.runtime);
  const owned = await log.owned();
  const isElsewhere = (owner: Owner): boolean => !isDeadOwner(owner) && !isOwn(owner, table.runtime.owner);
  const elsewhere = new Set(owned.filter(({ owner }) => isElsewhere(owner)).map(({ id }) => id));
  const orphaned = owned.filter(({ owner }) => isDeadOwner(owner)).map(({ id }) => id);
  const isDaemon = options.role === "daemon";
  const queued = isDaemon ? await log.sessionsWithQueue() : [];
  for (const id of new Set([...orphaned, ...queued, ...unrecovered])) {
    if (!elsewhere.has(id) && !table.sessions.has(id)) await recoverSession(table, { id, runQueue: isDaemon });
  }
}

/** One session that cannot be recovered does not keep the others from it. */
async function recoverSession(
  table: OpenSessions,
  { id, runQueue }: { id: SessionId; runQueue: boolean },
): Promise<void> {
  const { log, logger, recovered, unrecovered } = table.runtime;
  try {
    const before = await log.find(id);
    if (runQueue) await openStored(table, id, { runQueue });
    else await recoverAndUnload(table, id);
    if (before !== null) recovered.set(id, before.summary.lastSequence);
    unrecovered.delete(id);
    logger.info("session.recovered", { session: id });
  } catch (error) {
    // It may be ours by now, and nobody opens it: while the disk is full, for example.
    if (hasCode(error, "session_not_found", "unsupported_agent")) unrecovered.delete(id);
    else unrecovered.add(id);
    logger.warn("session.not_recovered", { session: id, error });
  }
}

/** For an embedded runtime, which runs only what it is asked to. */
async function recoverAndUnload(table: OpenSessions, id: SessionId): Promise<void> {
  const open = await openStored(table, id, { runQueue: false });
  await open.writer.flushed();
  if (isIdle(open)) await unload(table, open);
}
