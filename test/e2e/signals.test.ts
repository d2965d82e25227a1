/** `franca run` told to end while an agent will not: the whole tree is gone, soon, and the turn has its end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { program, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

/** Says that it works, starts a command of its own, and hears neither SIGINT nor SIGTERM. */
const STUBBORN = `#!${process.execPath}
if (process.argv.includes("--version")) { console.log("0.0.1"); process.exit(0); }
const { spawn } = require("node:child_process");
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const line = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
line({ type: "system", subtype: "init", cwd: process.cwd(), session_id: "T-1", tools: ["Bash"], mcp_servers: [] });
const child = spawn("sleep", ["1000"], { stdio: "ignore", detached: true });
const text = "working " + process.pid + " " + child.pid;
const message = { type: "message", role: "assistant", content: [{ type: "text", text }], stop_reason: "end_turn" };
line({ type: "assistant", message, parent_tool_use_id: null, session_id: "T-1" });
setInterval(() => {}, 1000);
`;

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
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "amp"), STUBBORN);
  chmodSync(join(bin, "amp"), 0o755);
  const env = testEnvironment(home, { PATH: `${bin}:${process.env.PATH}`, AMP_API_KEY: "none" });
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
      const [, agent, command] = /working (\d+) (\d+)/.exec(stdout) ?? [];
      if (agent !== undefined && command !== undefined) resolve([Number(agent), Number(command)]);
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
