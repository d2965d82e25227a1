/** The clock of a session: whatever the system's clock does, it goes forward. */
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openClock } from "../../src/runtime/session/clock.ts";
import { openWakeTimer } from "../../src/runtime/session/wake-timer.ts";
import { realSystem } from "../../src/runtime/system.ts";

function fakeClocks(wall: number) {
  const time = { wall, elapsed: 0 };
  return {
    clocks: { wall: () => time.wall, elapsed: () => time.elapsed },
    pass: (ms: number) => {
      time.wall += ms;
      time.elapsed += ms;
    },
    jump: (ms: number) => {
      time.wall += ms;
    },
  };
}

test("it follows the system's clock, and continues from where it was when that is set back", () => {
  const { clocks, pass, jump } = fakeClocks(1_000);
  const clock = openClock(0, clocks);
  expect(clock.now()).toBe(1_000);
  jump(-600);
  expect(clock.now()).toBe(1_000);
  pass(50);
  expect(clock.now()).toBe(1_050);
  jump(5_000);
  expect(clock.now()).toBe(5_450);
});

test("after a restart it begins at the session's last event", () => {
  const { clocks, pass } = fakeClocks(100);
  const clock = openClock(5_000, clocks);
  pass(30);
  expect(clock.now()).toBe(5_030);
});

test("it never goes back, and advances by at least what has passed", () => {
  const moves = fc.array(fc.record({ passed: fc.nat(1_000), jumped: fc.integer({ min: -10_000, max: 10_000 }) }));
  fc.assert(
    fc.property(moves, (steps) => {
      const { clocks, pass, jump } = fakeClocks(100_000);
      const clock = openClock(0, clocks);
      let before = clock.now();
      for (const { passed, jumped } of steps) {
        jump(jumped);
        pass(passed);
        const now = clock.now();
        expect(now).toBeGreaterThanOrEqual(before + passed);
        before = now;
      }
    }),
  );
});

describe("a wake-up", () => {
  function openTimer() {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { clocks, jump } = fakeClocks(1_000_000);
    const passed = performance.now();
    const elapsed = () => performance.now() - passed;
    const clock = openClock(0, { wall: () => clocks.wall() + elapsed(), elapsed });
    const woken: number[] = [];
    return {
      clock,
      timer: openWakeTimer({ clock, system: realSystem, wake: (at) => void woken.push(at) }),
      woken,
      jump,
    };
  }
  const HOUR_MS = 3_600_000;

  test("that is asked for after the clock was set ahead comes when it is due, whatever was waited for before", () => {
    const { clock, timer, woken, jump } = openTimer();
    timer.set(clock.now() + HOUR_MS / 2);
    jump(37 * HOUR_MS);
    timer.set(clock.now() + 2_000);
    vi.advanceTimersByTime(1_999);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(woken).toEqual([clock.now()]);
  });

  test("that was asked for before keeps its length", () => {
    const { clock, timer, woken, jump } = openTimer();
    const at = clock.now() + HOUR_MS / 2;
    timer.set(at);
    jump(37 * HOUR_MS);
    timer.set(at);
    vi.advanceTimersByTime(HOUR_MS / 2 - 1);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(woken).toHaveLength(1);
  });

  test("that only moves later leaves the timer as it is, and one beyond what a timer can wait is set again", () => {
    const { clock, timer, woken } = openTimer();
    timer.set(clock.now() + 1_000);
    timer.set(clock.now() + 5_000);
    timer.set(null);
    vi.advanceTimersByTime(1_000);
    expect(woken).toHaveLength(1);
    timer.set(clock.now() + 30 * 24 * HOUR_MS);
    vi.advanceTimersByTime(25 * 24 * HOUR_MS);
    expect(woken).toHaveLength(2);
    timer.set(clock.now() + 1_000);
    timer.cancel();
    vi.advanceTimersByTime(HOUR_MS);
    expect(woken).toHaveLength(2);
  });
});
