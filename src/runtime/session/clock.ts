/**
 * A session's clock. It never goes back and never stands still, also when the system's clock is set back or was ahead
 * before a restart: deadlines, graces and aborts must not wait until the old time has come again.
 */
import type { System } from "../system.ts";

export interface SessionClock {
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Begins at the time of the session's last event, or at the system's if that is later. */
export function openClock(from: number, { wall, elapsed }: Pick<System, "wall" | "elapsed">): SessionClock {
  let last = from;
  let lastElapsed = elapsed();
  return {
    now() {
      const now = elapsed();
      last = Math.max(wall(), last + (now - lastElapsed));
      lastElapsed = now;
      return Math.floor(last);
    },
  };
}
