/** The clock of a session: it counts the time in which the session can work, and shows the time of the system. */
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openClock } from "../../src/runtime/session/clock.ts";
import { openWakeTimer } from "../../src/runtime/session/wake-timer.ts";
import { realSystem } from "../../src/runtime/system.ts";

const HOUR_MS = 3_600_000;

function openFakeClock({ wall, from = 0 }: { readonly wall: number; readonly from?: number }) {
  const time = { wall, elapsed: 0 };
  const ahead = { ms: 0, reports: 0 };
  const clock = openClock({
    from,
    system: { wall: () => time.wall, elapsed: () => time.elapsed },
    onAhead(ms) {
      ahead.ms = ms;
      ahead.reports += 1;
    },
  });
  return {
    clock,
    ahead,
    wall: () => time.wall,
    /** What an event of now shows. */
    shown: () => clock.now() + ahead.ms,
    pass(ms: number) {
      time.wall += ms;
      time.elapsed += ms;
    },
    jump(ms: number) {
      time.wall += ms;
    },
  };
}

test("a clock that is set ahead changes what is shown, not what is counted", () => {
  const { clock, shown, pass, jump } = openFakeClock({ wall: 1_000 });
  expect(clock.now()).toBe(1_000);
  jump(5 * HOUR_MS);
  pass(50);
  expect(clock.now()).toBe(1_050);
  expect(shown()).toBe(5 * HOUR_MS + 1_050);
});

test("a clock that is set back changes nothing, and is followed again when it has come back", () => {
  const { clock, shown, ahead, pass, jump } = openFakeClock({ wall: 1_000 });
  jump(-600);
  expect(clock.now()).toBe(1_000);
  pass(50);
  expect(shown()).toBe(1_050);
  jump(600);
  pass(50);
  expect(clock.now()).toBe(1_100);
  expect(ahead.reports).toBe(0);
});

test("a small correction of the system's clock is followed", () => {
  const { clock, ahead, jump } = openFakeClock({ wall: 1_000 });
  jump(3);
  expect(clock.now()).toBe(1_003);
  expect(ahead.reports).toBe(0);
});

test("after a restart it begins at the session's last event", () => {
  const { clock, pass } = openFakeClock({ wall: 100, from: 5_000 });
  pass(30);
  expect(clock.now()).toBe(5_030);
});

test("time in which expected work was not done is shown and not counted", () => {
  const { clock, shown, pass } = openFakeClock({ wall: 1_000 });
  clock.rest(60_000);
  pass(60_000 + 8 * HOUR_MS);
  expect(clock.now()).toBe(61_000);
  expect(shown()).toBe(61_000 + 8 * HOUR_MS);
  clock.rest(Number.POSITIVE_INFINITY);
  pass(HOUR_MS);
  expect(clock.now()).toBe(61_000 + HOUR_MS);
});

test("what is shown never goes back and is never behind; what is counted is never more than what has passed", () => {
  const move = fc.record({
    passed: fc.nat(100_000),
    jumped: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    rest: fc.option(fc.nat(10_000)),
  });
  fc.assert(
    fc.property(fc.array(move), (moves) => {
      const { clock, shown, wall, pass, jump } = openFakeClock({ wall: 10_000_000 });
      let before = { counted: clock.now(), shown: shown() };
      for (const { passed, jumped, rest } of moves) {
        if (rest !== null) clock.rest(rest);
        jump(jumped);
        pass(passed);
        const after = { counted: clock.now(), shown: shown() };
        expect(after.shown).toBeGreaterThanOrEqual(Math.max(before.shown + passed, wall() - 1));
        expect(after.counted - before.counted).toBeGreaterThanOrEqual(0);
        expect(after.counted - before.counted).toBeLessThan(passed + 250);
        before = after;
      }
    }),
  );
});

describe("a wake-up", () => {
  function openTimer() {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const start = performance.now();
    let offset = 1_000_000;
    const system = {
      ...realSystem,
      elapsed: () => performance.now() - start,
      wall: () => offset + performance.now() - start,
      soon: (run: () => void) => void setTimeout(run, 0),
    };
    const clock = openClock({ from: 0, system, onAhead: () => {} });
    const woken: number[] = [];
    return {
      clock,
      timer: openWakeTimer({ clock, system, wake: (at) => void woken.push(at) }),
      woken,
      jump(ms: number) {
        offset += ms;
      },
    };
  }

  test("keeps its length when the clock is set", () => {
    const { clock, timer, woken, jump } = openTimer();
    const at = clock.now() + HOUR_MS / 2;
    timer.set(at);
    jump(37 * HOUR_MS);
    timer.set(at);
    vi.advanceTimersByTime(HOUR_MS / 2 - 1);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(woken).toHaveLength(1);
  });

  test("that is asked for after the clock was set ahead comes when it is due, whatever was waited for before", () => {
    const { clock, timer, woken, jump } = openTimer();
    timer.set(clock.now() + HOUR_MS / 2);
    jump(37 * HOUR_MS);
    timer.set(clock.now() + 2_000);
    vi.advanceTimersByTime(1_999);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(woken).toHaveLength(1);
  });

  test("that moves later comes later, and one that nobody waits for any more does not come", () => {
    const { clock, timer, woken } = openTimer();
    timer.set(clock.now() + 1_000);
    timer.set(clock.now() + 5_000);
    vi.advanceTimersByTime(4_999);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(woken).toHaveLength(1);
    timer.set(clock.now() + 1_000);
    timer.set(null);
    vi.advanceTimersByTime(HOUR_MS);
    timer.set(clock.now() + 1_000);
    timer.cancel();
    vi.advanceTimersByTime(HOUR_MS);
    expect(woken).toHaveLength(1);
  });

  test("may be further away than a timer can wait", () => {
    const { clock, timer, woken } = openTimer();
    timer.set(clock.now() + 30 * 24 * HOUR_MS);
    vi.advanceTimersByTime(30 * 24 * HOUR_MS - 1);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(woken).toHaveLength(1);
  });

  test("comes after input that arrived while it was due", () => {
    const { clock, timer, woken } = openTimer();
    timer.set(clock.now() + 1_000);
    vi.advanceTimersByTime(999);
    // A line that was waiting in the pipe is read between the timer and the wake-up, and moves it.
    setTimeout(() => timer.set(clock.now() + 5_000), 1);
    vi.advanceTimersByTime(2);
    expect(woken).toEqual([]);
  });
});
