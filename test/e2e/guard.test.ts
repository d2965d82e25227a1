/** The owner of agents dies without a chance to stop them: they are gone within seconds, and no restart is needed. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { processTable } from "../../src/runtime/agent/process-table.ts";
import { program, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { eventually, guardsOf, handles } from "../support/processes.ts";
import { installStubbornAmp, stubbornPids } from "../support/stubborn-agent.ts";

/** How long everything may take to be gone, on a machine that is busy with other tests. */
const GONE_MS = 30_000;
const RUN = ["run", "--agent", "amp", "--format", "universal", "--", "work"];

type Child = ChildProcessByStdio<null, Readable, null>;

interface Owner {
  readonly child: Child;
  /** The agent, and what it started outside its group. */
  readonly agents: readonly number[];
  readonly guard: number;
}

const isAlive = (pid: number): boolean => processTable.startOf(pid) !== null;
const gone = ({ agents, guard }: Owner): Promise<void> =>
  eventually(() => ![...agents, guard].some(isAlive), { withinMs: GONE_MS });

function begin(): (args: readonly string[]) => Child {
  const home = temporaryFolder();
  const env = testEnvironment(home, installStubbornAmp(home));
  return (args) => {
    // Each in a group of its own, so that the whole of it can be killed.
    const options = { env, cwd: home, detached: true } as const;
    const child = spawn(process.execPath, [program, ...args], { ...options, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
}

/** Resolves when a client's output shows that the agent works for its owner. */
async function working(child: Child, client: Child): Promise<Owner> {
  let output = "";
  const agents = await new Promise<number[]>((resolve, reject) => {
    client.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const found = stubbornPids(output);
      if (found !== null) resolve(found);
    });
    client.once("exit", () => reject(new Error(`It ended before the agent worked: ${output}`)));
  });
  onTestFinished(() => {
    for (const pid of agents) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  expect(agents.every(isAlive)).toBe(true);
  const [guard, ...others] = guardsOf(child.pid);
  if (guard === undefined) throw new Error("There is no guard.");
  expect(others).toEqual([]);
  return { child, agents, guard };
}

function embedded(): Promise<Owner> {
  const child = begin()(RUN);
  return working(child, child);
}

async function daemon(): Promise<Owner> {
  const start = begin();
  const child = start(["serve", "--port", "0"]);
  await once(child.stdout, "data");
  return working(child, start(RUN));
}

test.each([
  ["franca run", embedded],
  ["franca serve", daemon],
])("%s is killed with its whole group: its agents end, and so does the guard", async (_, open) => {
  const owner = await open();
  process.kill(-(owner.child.pid ?? 0), "SIGKILL");
  await gone(owner);
});

test("no signal that means to end the owner ends the guard before its work is done", async () => {
  const owner = await daemon();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  // One that has just been started is replaced like any other that was killed: see the next test.
  await eventually(() => signals.every((signal) => handles(owner.guard, signal)), { withinMs: GONE_MS });
  for (const signal of signals) process.kill(owner.guard, signal);
  owner.child.kill("SIGKILL");
  await gone(owner);
});

test("a guard that was killed is replaced", async () => {
  const owner = await daemon();
  process.kill(owner.guard, "SIGKILL");
  const successor = (): number | undefined => guardsOf(owner.child.pid).find((pid) => pid !== owner.guard);
  await eventually(() => successor() !== undefined, { withinMs: GONE_MS });
  owner.child.kill("SIGKILL");
  await gone({ ...owner, guard: successor() ?? owner.guard });
});

test("a stop in order leaves neither agents nor a guard", async () => {
  const owner = await daemon();
  owner.child.kill("SIGTERM");
  await once(owner.child, "exit");
  expect(owner.agents.filter(isAlive)).toEqual([]);
  await gone(owner);
});
