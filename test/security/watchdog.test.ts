/** The watchdog of the server tests notices a hang. */
import { expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";

test.fails("a test whose server hangs fails", async () => {
  await startDaemon();
  const { user } = process.cpuUsage();
  while (process.cpuUsage().user - user < 2_100_000);
  expect(true).toBe(true);
});
