/** Steps all sessions with new input in the same turn of the event loop, so that their writes share one commit. */
import type { System } from "../system.ts";

export interface StepScheduler {
  readonly schedule: (job: StepJob) => void;
}

export interface StepJob {
  readonly run: () => void;
}

export function openStepScheduler({ soon }: Pick<System, "soon">): StepScheduler {
  let scheduled = new Set<StepJob>();
  const runAll = (): void => {
    const now = scheduled;
    scheduled = new Set();
    for (const job of now) job.run();
  };
  return {
    schedule(job) {
      // After the poll phase: everything that arrived in this turn of the loop is one batch.
      if (scheduled.size === 0) soon(runAll);
      scheduled.add(job);
    },
  };
}
