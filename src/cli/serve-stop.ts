/**
 * How the daemon stops. At the first signal running turns may end for as long as was configured (not at all by
 * default), then writes are finished and agents are stopped. Each further signal skips what is waited for.
 */
import type { Daemon } from "../server/compose.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Resolves when the daemon is down. The last signal ends the process at once: its guard ends the agents, and nothing
 * that was stored is lost.
 */
export function closeOnSignals(daemon: Daemon, { waitMs }: { waitMs: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const waiting = new AbortController();
    let signals = 0;
    const stop = (): void => {
      signals += 1;
      if (signals === 1) {
        void untilIdle(daemon, { waitMs, signal: waiting.signal }).then(() => daemon.close().then(resolve, reject));
      } else if (signals === 2 && waitMs > 0 && !waiting.signal.aborted) waiting.abort();
      else process.exit(1);
    };
    for (const signal of SIGNALS) process.on(signal, stop);
  });
}

interface Waiting {
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** Until no turn runs, `waitMs` at the longest. A turn that waits for a person is not waited for. */
async function untilIdle({ sessions }: Daemon, { waitMs, signal }: Waiting): Promise<void> {
  if (waitMs === 0) return;
  const over = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  const after = sessions.position();
  if (!(await isWorking(sessions))) return;
  for await (const group of sessions.followAll({ signal: over, after })) {
    const isNews = group.notable().some(({ type }) => type === "turn.ended" || type === "permission.requested");
    if (isNews && !(await isWorking(sessions))) return;
  }
}

async function isWorking(sessions: Daemon["sessions"]): Promise<boolean> {
  for (const status of ["running", "retrying", "compacting"] as const) {
    if ((await sessions.list({ status, limit: 1 })).sessions.length > 0) return true;
  }
  return false;
}
