/** Timeouts that survive the garbage collector, also inside combined signals on Node 20. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { timeoutSignal } from "../../src/runtime/timeout-signal.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

test("all timeouts fire although nothing but a combined signal refers to them", async () => {
  const never = new AbortController();
  const fired = Array.from({ length: 50 }, () => {
    const signal = timeoutSignal({ ms: 20, signal: never.signal });
    return new Promise<unknown>((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
  });
  // In the task that made them, targets of weak references are not collected.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  const reasons = await Promise.all(fired);
  expect(reasons.every((reason) => reason instanceof DOMException && reason.name === "TimeoutError")).toBe(true);
});

test("the other signal aborts earlier, with its own reason", () => {
  const controller = new AbortController();
  const signal = timeoutSignal({ ms: 2 ** 40, signal: controller.signal });
  expect(signal.aborted).toBe(false);
  controller.abort("stopped");
  expect([signal.aborted, signal.reason]).toEqual([true, "stopped"]);
});
