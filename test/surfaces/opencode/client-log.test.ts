/** `/log`: what a client writes to the log of the server that it thinks it is using. */
import { expect, test } from "vitest";
import type { Logger } from "../../../src/runtime/logger.ts";
import { startDaemon } from "../../support/daemon.ts";

test("a message of a client is counted in the daemon's log, and its text is not in it", async () => {
  const lines: string[] = [];
  const note = (name: string, fields: object = {}): void => void lines.push(`${name} ${JSON.stringify(fields)}`);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const { url, client, directory } = await startDaemon({ logger });
  await client.create({ agent: "mock", directory, env: { API_KEY: "hunter2-of-the-session" } });
  for (const level of ["debug", "info", "warn", "error"]) {
    for (const service of ["tui", "hunter2-of-the-session and more"]) {
      const body = JSON.stringify({ service, level, message: "failed with hunter2-of-the-session" });
      const answer = await fetch(`${url}/opencode/log`, { method: "POST", body });
      expect(await answer.json()).toBe(true);
    }
  }
  expect(lines.filter((line) => line.startsWith("client.logged"))).toHaveLength(8);
  expect(lines.filter((line) => line.includes("hunter2"))).toEqual([]);
});
