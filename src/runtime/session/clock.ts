/**
 * A session's clock. Waits count only the time in which the session can work: setting the system clock, suspending the
 * machine or failing to write the log never ends a wait early. Event times show the wall clock and never go back.
 */
import type { System } from "../system.ts";

/** A wall clock that is ahead by less is only corrected, as NTP does; waits become that much shorter. */
const JUMP_MS = 250;
/** A call of `now` that comes later than expected by more than this was not just slow: the session could not work. */
const LATE_MS = 1_000;

export interface SessionClock {
  /** Milliseconds in which waits are counted. Starts as epoch milliseconds. Further work is expected at once. */
  readonly now: () => number;
  /** Work is done up to now; the next is expected at this time of `System.elapsed`, or not at all (infinity). */
  readonly rest: (until: number) => void;
}

export interface ClockOptions {
  /** The time of the session's last event, in epoch milliseconds: the clock begins there, or now if that is later. */
  readonly from: number;
  readonly system: Pick<System, "wall" | "elapsed">;
  /** Event times are ahead of `now` by this many milliseconds from here on. */
  readonly onAhead: (aheadMs: number, at: number) => void;
}

export function openClock({ from, system: { wall, elapsed }, onAhead }: ClockOptions): SessionClock {
  let counted = Math.max(from, wall());
  let ahead = 0;
  let lastElapsed = elapsed();
  let expected = Number.POSITIVE_INFINITY;
  return {
    now() {
      const now = elapsed();
      const passed = now - lastElapsed;
      lastElapsed = now;
      const late = now - expected;
      const lost = late > LATE_MS ? Math.min(late, passed) : 0;
      counted += passed - lost;
      expected = Math.min(expected, now);
      const behind = wall() - (counted + ahead + lost);
      if (behind > 0 && behind < JUMP_MS) counted += behind;
      const jumped = lost + (behind >= JUMP_MS ? behind : 0);
      if (jumped > 0) {
        ahead += Math.ceil(jumped);
        onAhead(ahead, Math.floor(counted));
      }
      return Math.floor(counted);
    },
    rest(until) {
      expected = until;
    },
  };
}
