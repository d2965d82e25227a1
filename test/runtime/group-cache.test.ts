/** What is kept of the latest groups is bounded in bytes and in age. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openCache } from "../../src/runtime/log/codec/cache.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("the oldest are dropped first, the newest never", () => {
  const cache = openCache<string, number>({ maxBytes: 10 });
  cache.add("a", 1, 6);
  cache.add("b", 2, 4);
  cache.add("c", 3, 4);
  expect(["a", "b", "c"].map(cache.get)).toEqual([undefined, 2, 3]);
  cache.add("d", 4, 100);
  expect(["b", "c", "d"].map(cache.get)).toEqual([undefined, undefined, 4]);
});

test("each is dropped after a while, also while others come, and the next are kept again", () => {
  const cache = openCache<string, number>({ maxBytes: 10, keptMs: 1_000 });
  cache.add("a", 1, 1);
  vi.advanceTimersByTime(900);
  cache.add("b", 2, 1);
  expect(["a", "b"].map(cache.get)).toEqual([1, 2]);
  vi.advanceTimersByTime(200);
  cache.add("c", 3, 1);
  vi.advanceTimersByTime(1_000);
  expect(["a", "b", "c"].map(cache.get)).toEqual([undefined, undefined, 3]);
  vi.advanceTimersByTime(1_000);
  expect(cache.get("c")).toBeUndefined();
  cache.add("d", 4, 10);
  expect(cache.get("d")).toBe(4);
});
