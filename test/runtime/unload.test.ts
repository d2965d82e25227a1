/** Agents inside this process are kept for their next prompt, unless many sessions are open. */
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../src/runtime/logger.ts";
import { realSystem, type System } from "../../src/runtime/system.ts";
import { open, session, spoken, turn } from "../support/sessions.ts";

/** Timers that may outlive the process fire when the test says so. */
function heldSystem() {
  let passed = 0;
  const elapsed = (): number => realSystem.elapsed() + passed;
  const held = new Map<() => void, number>();
  const system: System = {
    ...realSystem,
    elapsed,
    after(ms, run, options) {
      if (options?.background !== true) return realSystem.after(ms, run, options);
      held.set(run, elapsed() + ms);
      return { cancel: () => held.delete(run) };
    },
  };
  const pass = (ms: number): void => {
    passed += ms;
    for (const [run, at] of held) {
      if (at > elapsed()) continue;
      held.delete(run);
      run();
    }
  };
  return { system, pass };
}

async function openMany(count: number) {
  const { system, pass } = heldSystem();
  let stopped = 0;
  const logger = {
    ...silentLogger,
    info(event: string) {
      if (event === "agent.idle") stopped += 1;
    },
  };
  const sessions = await open(null, { system, logger });
  onTestFinished(() => sessions.close());
  const ids = Array.from({ length: count }, (_, number) => session(`idle-${number}`));
  for (const id of ids) {
    await sessions.create(id, { agent: "mock", directory: process.cwd() });
    await turn(sessions, id, "echo one");
  }
  const first = session("idle-0");
  return { pass, stopped: () => stopped, again: async () => spoken(await turn(sessions, first, "echo two")) };
}

test("few sessions keep their agents for ten minutes", async () => {
  const { pass, stopped, again } = await openMany(50);
  pass(31_000);
  expect(stopped()).toBe(0);
  pass(600_000);
  // The jump itself is an input of each session. The check after it finds them idle again.
  await expect
    .poll(() => {
      pass(31_000);
      return stopped();
    })
    .toBe(50);
  expect(await again()).toBe("two");
});

test("of many, those that are idle are unloaded after half a minute, and answer the next prompt", async () => {
  const { pass, stopped, again } = await openMany(51);
  pass(29_000);
  expect(stopped()).toBe(0);
  pass(2_000);
  expect(stopped()).toBeGreaterThan(0);
  expect(await again()).toBe("two");
});
