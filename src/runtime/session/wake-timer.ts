/** One timer per session, for the time at which its turn machine asks to be woken. */
import type { System, Timer } from "../system.ts";
import type { SessionClock } from "./clock.ts";

/** A longer wait is made of several timers: when the machine sleeps, at most this much of the sleep counts. */
const LONGEST_TIMER_MS = 60_000;

export interface WakeTimer {
  /** In the session clock's time; null: nothing is waited for. */
  readonly set: (at: number | null) => void;
  readonly cancel: () => void;
}

export interface WakeTimerOptions {
  readonly clock: SessionClock;
  readonly system: Pick<System, "elapsed" | "after" | "soon">;
  readonly wake: (at: number) => void;
}

/** The timer stays as it is when the wake-up only moves later, which happens with every line. */
export function openWakeTimer({ clock, system, wake }: WakeTimerOptions): WakeTimer {
  let timer: Timer | null = null;
  /** Of `system.elapsed()`. */
  let firesAt = Number.POSITIVE_INFINITY;
  let asked: number | null = null;
  const stop = (): void => {
    timer?.cancel();
    timer = null;
    firesAt = Number.POSITIVE_INFINITY;
  };
  const start = (at: number, now: number): void => {
    const delay = Math.min(Math.max(0, at - now), LONGEST_TIMER_MS);
    const due = system.elapsed() + delay;
    if (due < firesAt) {
      stop();
      timer = system.after(delay, fire, { background: true });
      firesAt = due;
    }
    clock.rest(firesAt);
  };
  const fire = (): void => {
    const now = clock.now();
    stop();
    if (asked === null) clock.rest(Number.POSITIVE_INFINITY);
    else if (asked > now) start(asked, now);
    // After the poll phase: lines of the agent that wait to be read come before the wake-up.
    else system.soon(wakeIfDue);
  };
  const wakeIfDue = (): void => {
    if (asked === null) return;
    const now = clock.now();
    if (asked > now) return start(asked, now);
    asked = null;
    wake(now);
  };
  return {
    cancel() {
      asked = null;
      stop();
    },
    set(at) {
      asked = at;
      if (at === null) clock.rest(firesAt);
      else start(at, clock.now());
    },
  };
}
