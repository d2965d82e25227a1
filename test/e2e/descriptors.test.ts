/** Too few file descriptors: a sentence at the start, an error of the turn when an agent starts, and no dead daemon. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { program, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { installStubbornAmp, stubbornPids } from "../support/stubborn-agent.ts";

const TIMEOUT_MS = 60_000;
const wait = { timeout: TIMEOUT_MS / 2 };
const hasLimits = spawnSync("prlimit", ["--version"], { stdio: "ignore" }).status === 0;

test("a start with too few descriptors is refused in a sentence", { timeout: TIMEOUT_MS }, async () => {
  const command = `ulimit -n 64; exec "${process.execPath}" "${program}" serve --port 0`;
  const child = spawn("bash", ["-c", command], {
    env: testEnvironment(temporaryFolder()),
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(said).toMatch(/^franca: Franca may not open more files: raise the limit, .*ulimit -n 1024.*\n$/);
  expect(code).toBe(1);
});

const openFiles = (pid: number): number => readdirSync(join("/proc", String(pid), "fd")).length;
const limitFiles = (pid: number, limit: number): void => {
  expect(spawnSync("prlimit", ["--pid", String(pid), `--nofile=${limit}:4096`]).status).toBe(0);
};

describeNeeding("a daemon without a free descriptor", { missing: hasLimits ? null : "prlimit was not found" }, () => {
  test("ends the turn with the cause, lives, and starts the agent later", { timeout: TIMEOUT_MS }, async () => {
    const home = temporaryFolder();
    const { url, child } = await serve({
      home,
      args: ["--no-token", "--port", "0"],
      env: installStubbornAmp(home),
      errorsTo: join(home, "errors"),
    });
    const { pid = 0 } = child;
    const session = await connect({ url }).create({ agent: "amp", directory: home });
    const ends = async (): Promise<string[]> => {
      const { events } = await session.listEvents({ limit: 1_000 });
      return events.flatMap((event) => (event.type === "turn.ended" ? [event.data.error?.message ?? ""] : []));
    };
    await ends();
    // The connection of this client stays open; what an agent needs is too much.
    limitFiles(pid, openFiles(pid) + 1);
    await session.prompt("work");
    await expect.poll(ends, wait).toEqual([expect.stringContaining("EMFILE")]);
    limitFiles(pid, 4_096);
    expect(child.exitCode).toBeNull();
    for await (const event of session.ask("work")) {
      const pids = stubbornPids(JSON.stringify(event));
      if (pids === null) continue;
      for (const one of pids) process.kill(one, "SIGKILL");
      break;
    }
  });
});
