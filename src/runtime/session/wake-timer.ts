/** One timer per session, for the time at which its turn machine asks to be woken. */
import type { System, Timer } from "../system.ts";
import type { SessionClock } from "./clock.ts";

/** Timers cannot wait longer; a later wake-up is set again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface WakeTimer {
  /** Epoch milliseconds, by the session's clock; null: nothing is waited for. */
  readonly set: (at: number | null) => void;
  readonly cancel: () => void;
}

export interface WakeTimerOptions {
  readonly clock: SessionClock;
  readonly system: Pick<System, "elapsed" | "after">;
  readonly wake: (at: number) => void;
}

/**
 * The timer stays as it is when the wake-up only moves later, which happens with every line: the session is woken too
 * early then, and asks again. What is compared is when a timer fires, not the time it was set for: after the system's
 * clock was set ahead (or the machine has slept), a timer that was set for an earlier time still fires much later.
 */
export function openWakeTimer({ clock, system, wake }: WakeTimerOptions): WakeTimer {
  let timer: Timer | null = null;
  /** Of `system.elapsed()`. */
  let firesAt = Number.POSITIVE_INFINITY;
  let asked: number | null = null;
  const cancel = (): void => {
    timer?.cancel();
    timer = null;
    firesAt = Number.POSITIVE_INFINITY;
    asked = null;
  };
  const fire = (): void => {
    cancel();
    wake(clock.now());
  };
  return {
    cancel,
    set(at) {
      // A wait that is known keeps its length, whatever the system's clock has done since.
      if (at === null || at === asked) return;
      const delay = Math.min(Math.max(0, at - clock.now()), LONGEST_TIMER_MS);
      const due = system.elapsed() + delay;
      asked = at;
      if (due >= firesAt) return;
      timer?.cancel();
      timer = system.after(delay, fire, { background: true });
      firesAt = due;
    },
  };
}
