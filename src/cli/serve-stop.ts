/**
 * How the daemon stops. At the first signal running turns may end for as long as was configured (not at all by
 * default), then writes are finished and agents are stopped. Each further signal skips what is waited for.
 */
import type { Logger } from "../runtime/logger.ts";
import { timeoutSignal } from "../runtime/timeout-signal.ts";
import type { Daemon } from "../server/compose.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** How long turns may go on at the longest on a host that is drained, unless something else is said. */
const DRAIN_MS = 600_000;

interface Stopping {
  readonly waitMs: number;
  /** Other hosts get what comes meanwhile. */
  readonly drain: boolean;
  readonly logger: Logger;
}

/**
 * Resolves when the daemon is down. The last signal ends the process at once: its guard ends the agents, and nothing
 * that was stored is lost.
 */
export function closeOnSignals(daemon: Daemon, { waitMs: asked, drain, logger }: Stopping): Promise<void> {
  const waitMs = drain && asked === 0 ? DRAIN_MS : asked;
  return new Promise((resolve, reject) => {
    const waiting = new AbortController();
    let signals = 0;
    const stop = (signal: NodeJS.Signals): void => {
      signals += 1;
      logger.info("daemon.stopping", { signal, signals, waitMs });
      if (signals === 1) {
        // A database that does not answer is no reason to go on.
        const drained = drain ? daemon.sessions.drain().catch(() => {}) : Promise.resolve();
        void drained
          .then(() => untilIdle(daemon, { waitMs, signal: waiting.signal }))
          .then(() => daemon.close())
          .then(resolve, reject);
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
  const over = timeoutSignal({ signal, ms: waitMs });
  const after = sessions.position();
  if ((await sessions.working()) === 0) return;
  for await (const group of sessions.followAll({ signal: over, after })) {
    const isNews = group.notable().some(({ type }) => type === "turn.ended" || type === "permission.requested");
    if (isNews && (await sessions.working()) === 0) return;
  }
}
