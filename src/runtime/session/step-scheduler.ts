/** Steps all sessions with new input in the same turn of the event loop, so that their writes share one commit. */

export interface StepScheduler {
  readonly schedule: (job: StepJob) => void;
}

export interface StepJob {
  readonly run: () => void;
}

export function openStepScheduler(): StepScheduler {
  let scheduled = new Set<StepJob>();
  const runAll = (): void => {
    const now = scheduled;
    scheduled = new Set();
    for (const job of now) job.run();
  };
  return {
    schedule(job) {
      // After the poll phase: everything that arrived in this turn of the loop is one batch.
      if (scheduled.size === 0) setImmediate(runAll);
      scheduled.add(job);
    },
  };
}
