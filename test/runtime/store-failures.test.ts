/** Every call of the log fails, one at a time, while sessions work: the daemon lives, and works again afterwards. */
import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import { ApiError } from "../../src/protocol/errors.ts";
import { openMemoryLog } from "../../src/runtime/log/memory/open.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { realSystem, type System } from "../../src/runtime/system.ts";
import { openFailingLog, storeCalls } from "../support/failing-log.ts";
import { open, session, spoken, turn } from "../support/sessions.ts";

const id = session("s");
/** Its agent is a process. */
const ofProcess = session("p");
const directory = tmpdir();
const errors = [new ApiError("storage_error", "The disk is gone."), new TypeError("a bug of the store")];

/** Regular checks run as often as idle ones here. */
const system: System = { ...realSystem, every: (_ms, run) => realSystem.every(10, run) };

/** Rejections that nothing handles while a test runs. */
function watchRejections(): readonly unknown[] {
  const found: unknown[] = [];
  const note = (error: unknown): void => void found.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return found;
}

/** What clients do with a session, each with or without success. */
async function use(sessions: Sessions): Promise<void> {
  const steps: readonly (() => Promise<unknown>)[] = [
    () => sessions.create(session("new"), { agent: "mock", directory }),
    () => sessions.prompt(id, { text: "echo one", idempotencyKey: "k" }),
    () => sessions.prompt(ofProcess, { text: "echo two" }),
    () => sessions.update(id, { title: "t" }),
    () => sessions.get(id, { limit: 10 }),
    () => sessions.events(id, { offset: 0, limit: 10, includeRaw: true }),
    () => sessions.list({ limit: 10 }),
    () => sessions.abort(id, { clearQueue: false }),
    () => sessions.usage({ by: "day", days: 1, offsetMinutes: 0 }),
    () => sessions.delete(session("new")),
  ];
  for (const step of steps) await step().catch(() => {});
}

describe.each(storeCalls)("%s", (method) => {
  test.each(errors)("fails once with %s", async (error) => {
    const rejections = watchRejections();
    const failing = openFailingLog(openMemoryLog());
    const store = { kind: "memory", log: failing.log } as const;
    const sessions = await open(null, { store, system, idleMs: 20 });
    onTestFinished(() => sessions.close());
    await sessions.create(id, { agent: "mock", directory });
    await sessions.create(ofProcess, { agent: "fake", directory });
    await turn(sessions, id, "echo before");
    failing.fail(method, error);
    // Until it was called; idle sessions are unloaded meanwhile.
    await expect.poll(() => use(sessions).then(failing.failed), { interval: 30 }).toBe(1);
    await expect.poll(() => sessions.get(id, { limit: 0 }).then(({ status }) => status, String)).toBe("idle");
    const run = async (): Promise<string> => spoken(await turn(sessions, id, "echo after"));
    await expect.poll(() => run().catch(String)).toBe("after");
    expect(rejections).toEqual([]);
  });
});
