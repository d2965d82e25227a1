/** The watchdog of the server tests notices a hang. */
import { expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";

test.fails("a test whose server hangs fails", async () => {
  await startDaemon();
  const { user } = process.cpuUsage();
  // Computes between two looks at the clock, which itself takes the system's time.
  while (process.cpuUsage().user - user < 2_100_000) for (let n = 0; n < 1_000_000; n += 1);
  expect(true).toBe(true);
});
