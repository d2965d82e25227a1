/** `franca run` told to end while an agent will not: the whole tree is gone, soon, and the turn has its end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { program, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { installStubbornAmp, stubbornPids } from "../support/stubborn-agent.ts";

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test("SIGTERM: interrupt, terminate, kill; the turn ends as aborted and nothing is left", async () => {
  const home = temporaryFolder();
  const env = testEnvironment(home, installStubbornAmp(home));
  const child = spawn(process.execPath, [program, "run", "--agent", "amp", "--format", "universal", "--", "work"], {
    env,
    cwd: home,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  const working = new Promise<number[]>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const pids = stubbornPids(stdout);
      if (pids !== null) resolve(pids);
    });
  });
  const pids = await Promise.race([
    working,
    once(child, "close").then(() => {
      throw new Error(`It ended before the agent worked: ${stdout}`);
    }),
  ]);
  expect(pids.every(isAlive)).toBe(true);
  child.kill("SIGTERM");
  expect(await once(child, "close")).toEqual([1, null]);
  expect(pids.filter(isAlive)).toEqual([]);
  const events: UniversalEvent[] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events.filter(({ type }) => type === "turn.ended")).toMatchObject([{ data: { reason: "aborted" } }]);
});
