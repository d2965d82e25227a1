/** A log that cannot be written: a clear error, nothing acknowledged is lost, and it works again afterwards. */
import { rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { realSystem, type System, type Timer } from "../../src/runtime/system.ts";
import { endOf, open, removeFolder, session, spoken, tempFolder, turn, until, wholeLog } from "../support/sessions.ts";
import { mountTmpfs, readOnlyView, type Tmpfs } from "../support/tmpfs.ts";

const id = session("s");
const count = (events: readonly { type: string }[], type: string) =>
  events.filter((event) => event.type === type).length;

let folder: string;
let sessions: Sessions | null = null;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await sessions?.close();
  sessions = null;
  removeFolder(folder);
});

/** The log is full when it refuses what is asked of it. */
async function untilFull(opened: Sessions): Promise<void> {
  for (let refused = false; !refused; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    refused = await opened.update(id, { title: "t" }).then(
      () => false,
      (error: unknown) => {
        expect(error).toMatchObject({ code: "storage_error" });
        expect(String(error)).toMatch(/no room left for .*franca\.db/);
        return true;
      },
    );
  }
}

/** The real one, and its timers that keep a process alive. */
function watchedSystem(): { readonly system: System; readonly waiting: ReadonlySet<Timer> } {
  const waiting = new Set<Timer>();
  const after: System["after"] = (ms, run, options = {}) => {
    const timer = realSystem.after(
      ms,
      () => {
        waiting.delete(watched);
        run();
      },
      options,
    );
    const watched: Timer = {
      cancel() {
        waiting.delete(watched);
        timer.cancel();
      },
    };
    if (options.background !== true) waiting.add(watched);
    return watched;
  };
  return { system: { ...realSystem, after }, waiting };
}

describe("a file that may not grow any more", () => {
  const store = () => ({ kind: "sqlite" as const, folder, maxBytes: 750_000 });

  test("closed while there is no room, a session tries no more, and the process can end", async () => {
    const { system, waiting } = watchedSystem();
    const opened = await open(null, { store: store(), system });
    await opened.create(id, { agent: "mock", directory: folder });
    await opened.prompt(id, { text: "flood 100000" });
    await untilFull(opened);
    await opened.close();
    expect(waiting.size).toBe(0);
  });

  test("a flood stops, prompts are refused, and everything goes on when there is room", async () => {
    const opened = await open(null, { store: store() });
    sessions = opened;
    const old = session("old");
    await opened.create(old, { agent: "mock", directory: folder });
    await turn(opened, old, "flood 10000");
    await opened.create(id, { agent: "fake", directory: folder });
    const { sequence } = await opened.prompt(id, { text: "flood 10000" });
    await untilFull(opened);
    const published = await wholeLog(opened, id);
    expect(count(published, "turn.ended")).toBe(0);
    await opened.delete(old);
    const ended = await until(opened, id, { type: "turn.ended", after: sequence });
    expect(ended.data).toMatchObject({ reason: "completed", evidence: "signal" });
    const log = await wholeLog(opened, id);
    expect(log.slice(0, published.length)).toEqual(published);
    expect(count(log, "item.delta")).toBe(10_000);
  });
});

describe("a quota", () => {
  test("ends the turn that reaches it and refuses the next, with a clear reason, until something is deleted", async () => {
    const opened = await open(null, { store: { kind: "sqlite", folder, quotaBytes: 3_000_000 } });
    sessions = opened;
    await opened.create(id, { agent: "mock", directory: folder });
    const events = await turn(opened, id, "flood 1000000");
    expect(events.at(-1)).toMatchObject({
      data: { reason: "error", error: { code: "storage_quota", message: expect.stringMatching(/quota is 3000000/) } },
    });
    const refused = opened.prompt(id, { text: "echo more" });
    await expect(refused).rejects.toMatchObject({ code: "storage_error", message: expect.stringMatching(/prune/) });
    await opened.delete(id);
    const next = session("next");
    await opened.create(next, { agent: "mock", directory: folder });
    expect(spoken(await turn(opened, next, "echo room"))).toBe("room");
  });
});

const tmpfs = mountTmpfs("1m");
tmpfs?.unmount();
const onTmpfs = tmpfs === null ? describe.skip : describe;

onTmpfs("a real disk (needs the right to mount)", () => {
  let disk: Tmpfs | null = null;
  afterEach(async () => {
    await sessions?.close();
    sessions = null;
    disk?.unmount();
    if (disk !== null) await rm(disk.folder, { recursive: true, force: true });
  });

  test("that is full: nothing published is lost, and the turn goes on when there is room", async () => {
    disk = mountTmpfs("6m");
    const place = disk?.folder ?? "";
    const ballast = join(place, "ballast");
    writeFileSync(ballast, Buffer.alloc(3_000_000));
    const opened = await open(place);
    sessions = opened;
    await opened.create(id, { agent: "fake", directory: folder });
    const { sequence } = await opened.prompt(id, { text: "flood 6000" });
    for (let stuck = false; !stuck; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      stuck = await opened.update(id, { title: "t" }).then(
        () => false,
        (error: { code?: string }) => error.code === "storage_error",
      );
    }
    const published = await wholeLog(opened, id);
    rmSync(ballast);
    // There is room again, but the session has not tried yet: what is acknowledged now runs too.
    const next = await opened.prompt(id, { text: "say hello" });
    const ended = await until(opened, id, { type: "turn.ended", after: sequence });
    expect(ended.data.reason).toBe("completed");
    const log = await wholeLog(opened, id);
    expect(log.slice(0, published.length)).toEqual(published);
    expect(count(log.slice(0, ended.sequence), "item.delta")).toBe(6_000);
    const started = await until(opened, id, { type: "turn.started", after: ended.sequence });
    expect(started.data.prompt_id).toBe(next.promptId);
  });

  test("that is read-only: it refuses to start and says so", async () => {
    const before = await open(folder);
    await before.create(id, { agent: "mock", directory: folder });
    expect(endOf(await turn(before, id, "echo kept"))).toMatchObject({ reason: "completed" });
    const kept = await wholeLog(before, id);
    await before.close();
    disk = readOnlyView(folder);
    await expect(open(disk.folder)).rejects.toMatchObject({
      code: "storage_error",
      message: expect.stringMatching(/franca\.db cannot be written: make the file and its folder writable/),
    });
    sessions = await open(folder);
    expect(await wholeLog(sessions, id)).toEqual(kept);
  });
});
