/** The clock of a session: whatever the system's clock does, it goes forward. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openClock } from "../../src/runtime/session/clock.ts";

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
