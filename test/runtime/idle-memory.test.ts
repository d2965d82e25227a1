/** An idle daemon has its heap collected once for what its work has left, and again only when there is more. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { collectForLowMemory, type Heap, releaseMemoryWhenIdle } from "../../src/runtime/idle-memory.ts";

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function openHeap() {
  const state = { worked: 0, free: 8 * MIB, collections: 0 };
  const heap: Heap = {
    workedMs: () => state.worked,
    freeBytes: () => state.free,
    async collect() {
      state.collections += 1;
      state.free = MIB;
    },
  };
  releaseMemoryWhenIdle(heap);
  return state;
}

test("it is collected after the start, and not again while nothing happens", async () => {
  const state = openHeap();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.collections).toBe(1);
});

test("it is not collected while there is work, and once afterwards", async () => {
  const state = openHeap();
  for (let second = 0; second < 30; second += 1) {
    state.worked += 500;
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(state.collections).toBe(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.collections).toBe(1);
});

test("it is collected again when V8 has found much garbage, or after work that may have left some", async () => {
  const state = openHeap();
  await vi.advanceTimersByTimeAsync(60_000);
  state.free += 2 * MIB;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.collections).toBe(1);
  state.free += 2 * MIB;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.collections).toBe(2);
  state.worked += 2_000;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.collections).toBe(3);
});

test("V8's collection for low memory comes back, however often it is asked for", async () => {
  vi.useRealTimers();
  const garbage = new WeakRef({});
  await collectForLowMemory();
  await collectForLowMemory();
  expect(garbage.deref()).toBeUndefined();
});
