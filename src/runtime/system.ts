/**
 * What the runtime takes from the machine that it runs on: the time, timers and new ids. The runtime is given it, so
 * that a simulation can decide what time it is and which of several timers fires first.
 */
import { randomUUID } from "node:crypto";

export interface Timer {
  readonly cancel: () => void;
}

export interface TimerOptions {
  /** The process may end before it fires. */
  readonly background?: boolean;
}

export interface System {
  /** The system's time in epoch milliseconds: it may be set back. */
  readonly wall: () => number;
  /** Milliseconds that only go forward. */
  readonly elapsed: () => number;
  readonly after: (ms: number, run: () => void, options?: TimerOptions) => Timer;
  /** Again and again, for as long as the process lives anyway. */
  readonly every: (ms: number, run: () => void) => Timer;
  /** In this turn of the event loop, behind everything that has arrived. */
  readonly soon: (run: () => void) => void;
  readonly newId: () => string;
}

export const realSystem: System = {
  wall: Date.now,
  elapsed: () => performance.now(),
  after(ms, run, { background = false } = {}) {
    const timer = setTimeout(run, ms);
    if (background) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref();
    return { cancel: () => clearInterval(timer) };
  },
  soon: setImmediate,
  newId: randomUUID,
};
