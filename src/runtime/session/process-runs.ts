/** Runs: the process trees of agents. Each is written to the log, so that one whose owner died is found and stopped. */
import { randomUUID } from "node:crypto";
import type { SessionId } from "../../protocol/ids.ts";
import type { Runs } from "../agent/connection/contract.ts";
import { removeLaunchFiles } from "../agent/launch-files.ts";
import { isDead } from "../agent/process-table.ts";
import { endTree, SWEEP_LADDER } from "../agent/process-tree.ts";
import type { Guard } from "../guard/guard.ts";
import type { EventLog, Owner } from "../log/contract.ts";
import type { Logger } from "../logger.ts";

interface RunsOptions {
  readonly log: EventLog;
  readonly owner: Owner;
  readonly logger: Logger;
}

/** Written before the start, so that even a crash in between leaves something to find the processes by. */
export function openRuns({ log, owner, guard, logger }: RunsOptions & { readonly guard: Guard }): Runs {
  const sessions = new Map<string, SessionId>();
  const quietly = (work: Promise<void>): void => {
    work.catch((error: unknown) => logger.warn("run.not_noted", { error }));
  };
  return {
    async begin(session) {
      const runId = randomUUID();
      await log.putRun({ runId, session, owner, leader: null });
      sessions.set(runId, session);
      guard.begin(runId);
      return runId;
    },
    started(runId, leader) {
      const session = sessions.get(runId);
      guard.started(runId, leader);
      if (session !== undefined) quietly(log.putRun({ runId, session, owner, leader }));
    },
    ended(runId) {
      sessions.delete(runId);
      removeLaunchFiles(runId);
      guard.ended(runId);
      quietly(log.endRun(runId));
    },
  };
}

/** Found by what is stored and by the variable they carry, never by name. */
export async function stopOrphanedRuns({ log, logger }: Pick<RunsOptions, "log" | "logger">): Promise<void> {
  const orphans = (await log.runs()).filter(({ owner }) => isDead(owner));
  await Promise.all(
    orphans.map(async ({ runId, leader, session }) => {
      const stuck = await endTree({ runId, leader, ours: false }, SWEEP_LADDER);
      removeLaunchFiles(runId);
      logger.info("process.reaped", { session, pid: leader?.pid, stuck });
      // What cannot be written now, on a full disk, is found again.
      if (stuck.length === 0)
        await log.endRun(runId).catch((error: unknown) => logger.warn("run.not_noted", { error }));
    }),
  );
}
