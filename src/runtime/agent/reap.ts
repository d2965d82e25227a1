/** Processes whose owner died: found by what was written down and by what they carry, never by name. */

import type { Runtime } from "../runtime.ts";
import { isDead } from "./process-table.ts";
import { endTree, SWEEP_LADDER } from "./process-tree.ts";

export async function reapRuns({ log, logger }: Runtime): Promise<void> {
  const orphans = (await log.runs()).filter(({ owner }) => isDead(owner));
  await Promise.all(
    orphans.map(async ({ runId, leader, session }) => {
      const stuck = await endTree({ runId, leader, ours: false }, SWEEP_LADDER);
      logger.info("process.reaped", { session, pid: leader?.pid, stuck });
      if (stuck.length === 0) await log.endRun(runId);
    }),
  );
}
