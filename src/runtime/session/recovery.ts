/** What dead owners left behind: their processes and turns are ended, and a daemon runs their queues. */
import type { SessionId } from "../../protocol/ids.ts";
import { isDead } from "../agent/process-table.ts";
import { reapRuns } from "../agent/reap.ts";
import type { Runtime } from "../runtime.ts";
import { putInOrder, take } from "./table.ts";

export async function recover(runtime: Runtime): Promise<void> {
  await reapRuns(runtime);
  const { log, options, live } = runtime;
  const owned = await log.owned();
  const elsewhere = new Set(owned.filter(({ owner }) => !isDead(owner)).map(({ id }) => id));
  const orphaned = owned.filter(({ owner }) => isDead(owner)).map(({ id }) => id);
  const isDaemon = options.role === "daemon";
  const queued = isDaemon ? await log.sessionsWithQueue() : [];
  for (const id of new Set([...orphaned, ...queued])) {
    if (!elsewhere.has(id) && !live.has(id)) await recoverSession(runtime, { id, runQueue: isDaemon });
  }
}

/** One session that cannot be recovered does not keep the others from it. */
async function recoverSession(runtime: Runtime, { id, runQueue }: { id: SessionId; runQueue: boolean }): Promise<void> {
  try {
    const before = await runtime.log.find(id);
    if (runQueue) await take(runtime, id, { runQueue });
    else await putInOrder(runtime, id);
    if (before !== null) runtime.recovered.set(id, before.summary.lastSequence);
    runtime.logger.info("session.recovered", { session: id });
  } catch (error) {
    runtime.logger.warn("session.not_recovered", { session: id, error });
  }
}
