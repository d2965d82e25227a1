/** Every background task of a daemon fails once: it is reported and tried again, and sessions work on. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Background, openBackground, type TaskName, taskNames } from "../../src/runtime/background.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

/**
 * Tasks that a daemon without a terminal does not run within a test. What they do when they fail is the same
 * (`test/runtime/background.test.ts`), and `test/runtime/store-failures.test.ts` makes their calls of the log fail.
 */
const rare: readonly TaskName[] = ["agents", "idle-sessions", "notices", "quota", "recovery", "sessions", "snapshots"];

interface Injected {
  readonly background: Background;
  /** Number of times the task was started. */
  readonly runs: () => number;
}

/** The first run of a task rejects, before or after its work has begun. */
function failFirst(task: TaskName): Injected {
  const background = openBackground({ logger: silentLogger });
  let runs = 0;
  const isFirst = (name: TaskName): boolean => {
    if (name === task) runs += 1;
    return name === task && runs === 1;
  };
  const failure = (): Promise<never> => Promise.reject(new Error(`${task} fails once`));
  return {
    background: {
      ...background,
      start: (name, work, signal) =>
        background.start(name, (onProgress) => (isFirst(name) ? failure() : work(onProgress)), signal),
      run: (name, work) => background.run(name, () => (isFirst(name) ? failure() : work())),
    },
    runs: () => runs,
  };
}

async function startEverything(background: Background): Promise<TestDaemon> {
  const configFolder = temporaryFolder();
  writeFileSync(
    join(configFolder, "plugin.js"),
    'export const Plugin = async () => ({ event: async () => {}, "tool.execute.before": async () => {} });',
  );
  const receiver = "http://127.0.0.1:9";
  const daemon = await startDaemon({
    background,
    configFolder,
    plugins: ["./plugin.js"],
    keepDays: 1_000,
    webhooks: { hook: { url: receiver } },
    telemetry: { endpoint: receiver },
    telemetryMs: 5,
  });
  // This surface follows the log from its first use on.
  expect((await fetch(`${daemon.url}/opencode/session`)).status).toBe(200);
  return daemon;
}

const metric = async ({ url }: TestDaemon, task: TaskName): Promise<string | undefined> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text.split("\n").find((line) => line.startsWith(`franca_background_failures_total{task="${task}"}`));
};

describe.each(taskNames.filter((name) => !rare.includes(name)))("%s", (task) => {
  test("fails once, is counted, and works again while turns run", async () => {
    const { background, runs } = failFirst(task);
    const daemon = await startEverything(background);
    const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
    const run = (): Promise<number> => session.run("echo hello").then(runs);
    await expect.poll(run).toBeGreaterThan(1);
    expect(await metric(daemon, task)).toMatch(/ 1$/);
    const health = async (): Promise<unknown> => (await fetch(`${daemon.url}/v1/health`)).json();
    await expect.poll(health).toMatchObject({ status: "ok" });
  });
});

test("health names a task while it fails, with the code of its error and without its message", async () => {
  const background = openBackground({ logger: silentLogger });
  const daemon = await startDaemon({ background });
  const error = Object.assign(new Error("connect ECONNREFUSED secret.example:5432"), { code: "ECONNREFUSED" });
  background.run("webhooks", () => Promise.reject(error));
  const health = async (): Promise<unknown> => (await fetch(`${daemon.url}/v1/health`)).json();
  const failingTasks = [{ name: "webhooks", error: "ECONNREFUSED" }];
  await expect.poll(health).toMatchObject({ status: "degraded", storage: "ok", failingTasks });
  expect(JSON.stringify(await health())).not.toContain("secret");
});
