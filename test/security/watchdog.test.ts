/** The watchdog of the server tests notices a hang. */
import { expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";

test.fails("a test whose server hangs fails", async () => {
  await startDaemon();
  const until = performance.now() + 2_100;
  while (performance.now() < until);
  expect(true).toBe(true);
});
