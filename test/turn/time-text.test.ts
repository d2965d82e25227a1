/** Times are printed and read as the platform does it, only faster. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isSameJson } from "../../src/core/json.ts";
import { timeOf, timeText } from "../../src/core/time-text.ts";

/** Steps of a clock: within a second, across seconds, across days, and far out of the usual years. */
const clock = fc.array(
  fc.oneof(fc.nat(5), fc.nat(2_000), fc.nat(100_000_000), fc.integer({ min: -(10 ** 14), max: 10 ** 14 })),
  { minLength: 1, maxLength: 40 },
);

test("a time is printed and read as Date does it, whatever was printed before", () => {
  fc.assert(
    fc.property(fc.nat(4_102_444_800_000), clock, (from, steps) => {
      let at = from;
      for (const step of steps) {
        at = Math.abs(at + step) % 8.64e15;
        const text = timeText(at);
        expect(text).toBe(new Date(at).toISOString());
        expect(timeOf(text)).toBe(at);
        const damaged = `${text.slice(0, -2)}xZ`;
        expect(timeOf(damaged)).toEqual(Date.parse(damaged));
      }
    }),
  );
});

test("values are the same JSON when their texts are, but for the order of keys", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      expect(isSameJson(one, JSON.parse(JSON.stringify(one)))).toBe(true);
      if (JSON.stringify(one) === JSON.stringify(other)) expect(isSameJson(one, other)).toBe(true);
      expect(isSameJson([one], [one, other])).toBe(false);
      expect(isSameJson({ one }, { one, other })).toBe(false);
    }),
  );
  expect(isSameJson({ a: 1, b: [2] }, { b: [2], a: 1 })).toBe(true);
  expect(isSameJson({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(isSameJson({ a: 1 }, { a: 1, b: undefined })).toBe(true);
  expect(isSameJson({ 0: "a" }, ["a"])).toBe(false);
});
