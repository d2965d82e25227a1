/**
 * How long a daemon keeps sessions, where that is configured: idle ones beyond an age, or the oldest ones beyond a
 * size, are deleted in the background, a few at a time, with everything else served in between.
 */
import type { Background, RunningTask } from "../background.ts";
import type { Logger } from "../logger.ts";
import type { Sessions } from "./contract.ts";

export interface RetentionPolicy {
  /** Days without a change. */
  readonly keepDays?: number | undefined;
  /** Bytes of the log. */
  readonly maxDisk?: number | undefined;
}

export interface RetentionOptions extends RetentionPolicy {
  readonly sessions: Pick<Sessions, "prune" | "storedBytes">;
  readonly logger: Logger;
  readonly background: Background;
  readonly signal: AbortSignal;
  /** How often it is looked. */
  readonly everyMs?: number;
}

interface Retaining extends RetentionOptions {
  /** Called after each check. */
  readonly onProgress: () => void;
}

export const RETENTION_MS = 10 * 60_000;
/** Sessions deleted before others get their turn. */
export const RETENTION_STEP = 20;
const PAUSE_MS = 100;
const DAY_MS = 86_400_000;

export const startRetention = (options: RetentionOptions): RunningTask =>
  options.background.start("retention", (onProgress) => keepInBounds({ ...options, onProgress }), options.signal);

/** Runs until the signal fires or sessions cannot be deleted; ends at once unless a bound is configured. */
async function keepInBounds(options: Retaining): Promise<void> {
  const { keepDays, maxDisk, signal, everyMs = RETENTION_MS } = options;
  if (keepDays === undefined && maxDisk === undefined) return;
  while (!signal.aborted) {
    const isMore = await step(options);
    options.onProgress();
    await pause(isMore ? PAUSE_MS : everyMs, signal);
  }
}

/** True when there may be more to delete at once. */
async function step({ sessions, keepDays, maxDisk, logger }: RetentionOptions): Promise<boolean> {
  const deleted = await sessions.prune({
    limit: RETENTION_STEP,
    ...(keepDays === undefined ? {} : { olderThanMs: keepDays * DAY_MS }),
    ...(maxDisk === undefined ? {} : { maxBytes: maxDisk }),
  });
  if (deleted.length > 0) logger.info("sessions.pruned", { count: deleted.length, bytes: sessions.storedBytes() });
  if (deleted.length === RETENTION_STEP) return true;
  const bytes = sessions.storedBytes();
  if (maxDisk !== undefined && bytes > maxDisk) logger.warn("retention.exceeded", { bytes, maxDisk });
  return false;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
