/** Idle sessions are unloaded while nothing can be stored: nothing ends, and they are released when there is room. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Background, openBackground } from "../../src/runtime/background.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { realSystem, type System } from "../../src/runtime/system.ts";
import { open, session, spoken, turn } from "../support/sessions.ts";
import { mountTmpfs } from "../support/tmpfs.ts";

const ids = ["a", "b", "c"].map(session);
const unused = session("unused");
const wait = { timeout: 20_000 };
/** Regular checks run often here. */
const system: System = { ...realSystem, every: (_ms, run) => realSystem.every(20, run) };

interface Opened {
  readonly sessions: Sessions;
  readonly background: Background;
  readonly rejections: readonly unknown[];
}

/** Sessions that have worked and are idle, and one that has no agent yet. */
async function openIdle(folder: string): Promise<Opened> {
  const rejections: unknown[] = [];
  const note = (error: unknown): void => void rejections.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const background = openBackground({ logger: silentLogger });
  const sessions = await open(folder, { background, system, idleMs: 1_000 });
  onTestFinished(() => sessions.close());
  for (const [index, id] of ids.entries()) {
    await sessions.create(id, { agent: index === 0 ? "fake" : "mock", directory: folder });
    await turn(sessions, id, "echo before");
  }
  await sessions.create(unused, { agent: "mock", directory: folder });
  return { sessions, background, rejections };
}

const failingTasks = (background: Background): string[] => background.failing().map(({ name }) => name);

test("on a full disk", { timeout: 60_000 }, async ({ skip }) => {
  const disk = mountTmpfs("4m");
  if (disk === null) return skip("this user may not mount a file system");
  onTestFinished(disk.unmount);
  const { sessions, background, rejections } = await openIdle(disk.folder);
  const filler = join(disk.folder, "filler");
  expect(() => writeFileSync(filler, Buffer.alloc(8 * 1024 * 1024))).toThrow("ENOSPC");
  // The -wal may have room of its own.
  const update = (): Promise<string> =>
    sessions.update(session("b"), { title: "t".repeat(9_000) }).then(() => "", String);
  await expect.poll(update, { ...wait, interval: 0 }).toMatch("no room left");
  await expect.poll(() => failingTasks(background), wait).toContain("idle-sessions");
  rmSync(filler);
  for (const id of [...ids, unused]) {
    const run = async (): Promise<string> => spoken(await turn(sessions, id, "echo after"));
    await expect.poll(() => run().catch(String), wait).toBe("after");
  }
  await expect.poll(() => failingTasks(background), wait).toEqual([]);
  expect(rejections).toEqual([]);
});
