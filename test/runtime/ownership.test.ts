/** Checkpoints, the daemon's lock, a graceful stop, and who is who among processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { SNAPSHOT_SIZE } from "../../src/core/snapshot.ts";
import { isAlive, processTable, psTable } from "../../src/runtime/agent/process-table.ts";
import { daemonOf, lockDaemon } from "../../src/runtime/daemon/lock.ts";
import { loadSnapshot } from "../../src/runtime/log/checkpoints.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { allSessions } from "../../src/runtime/session/every-session.ts";
import { endOf, open, removeFolder, session, spoken, tempFolder, turn, until, wholeLog } from "../support/sessions.ts";
import { mountTmpfs } from "../support/tmpfs.ts";

const id = session("s");
let folder: string;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => removeFolder(folder));

describe("checkpoints", () => {
  test("opening a long session reads its checkpoint and what came after, not its history", async () => {
    const sessions = await open(folder);
    await sessions.create(id, { agent: "mock", directory: folder });
    for (let round = 0; round < 3; round += 1) await turn(sessions, id, "flood 8000");
    await turn(sessions, id, "echo last words");
    const shown = await sessions.get(id);
    await sessions.close();

    const log = openSqliteLog({ folder, durability: "normal", version: "test" });
    const snapshot = await loadSnapshot(log, id);
    expect(snapshot.sequence).toBe(shown.lastSequence);
    const kept = [...snapshot.items.values()];
    expect(kept).toEqual(shown.items.slice(-kept.length));
    expect(kept.length).toBeGreaterThan(1);
    expect(log.work().rows).toBeLessThanOrEqual(1);
    await log.close();

    const rebuilt = openSqliteLog({ folder, durability: "normal", version: "another" });
    expect(await loadSnapshot(rebuilt, id)).toEqual(snapshot);
    expect(rebuilt.work().rows).toBeGreaterThan(20);
    await rebuilt.close();
  });

  test("they do not grow with what was said before, and its items are read from the log", async () => {
    const sessions = await open(folder);
    await sessions.create(id, { agent: "mock", directory: folder });
    for (let round = 0; round < 4; round += 1) await turn(sessions, id, "flood 20000");
    const database = openDatabase(join(folder, LOG_FILE));
    const size = Number(database.prepare("SELECT length(state) AS size FROM checkpoints").get()?.size);
    database.close();
    expect(size).toBeLessThan(2 * SNAPSHOT_SIZE);
    const shown = await sessions.get(id);
    const all = (await wholeLog(sessions, id)).flatMap((event) =>
      event.type === "item.completed" ? [event.data.item] : [],
    );
    expect(JSON.stringify(shown.items).length).toBeGreaterThan(4 * SNAPSHOT_SIZE);
    expect(shown.items).toEqual(all);
    await sessions.close();
  });

  test("one with fields that this code does not know, or without some that it does, is not read", async () => {
    const sessions = await open(folder);
    await sessions.create(id, { agent: "mock", directory: folder, title: "As it was" });
    await turn(sessions, id, "echo hello");
    const shown = await sessions.get(id);
    await sessions.close();
    for (const change of [
      { title: "As it never was", removed: undefined },
      { title: "As it never was", more: 1 },
    ]) {
      const database = openDatabase(join(folder, LOG_FILE));
      const state = JSON.parse(String(database.prepare("SELECT state FROM checkpoints").get()?.state));
      database.prepare("UPDATE checkpoints SET state = ?").run(JSON.stringify({ ...state, ...change }));
      database.close();
      const again = await open(folder);
      expect(await again.get(id)).toEqual(shown);
      await again.close();
    }
  });

  test("items further back are read page by page", async () => {
    const sessions = await open(folder);
    await sessions.create(id, { agent: "mock", directory: folder });
    for (let round = 0; round < 130; round += 1) await turn(sessions, id, `echo ${round}`);
    const all = (await wholeLog(sessions, id)).flatMap((event) =>
      event.type === "item.completed" ? [event.data.item] : [],
    );
    const pages = [];
    for (let before: string | undefined; ; ) {
      const { items } = await sessions.get(id, { limit: 70, ...(before === undefined ? {} : { itemsBefore: before }) });
      if (items.length === 0) break;
      pages.unshift(...items);
      before = items[0]?.item_id;
    }
    expect(pages).toEqual(all);
    await sessions.close();
  });
});

describe("a graceful stop", () => {
  test("ends the turn as interrupted, and the session goes on after the next start", async () => {
    const sessions = await open(folder);
    await sessions.create(id, { agent: "fake", directory: folder });
    await sessions.prompt(id, { text: "ask" });
    await until(sessions, id, { type: "permission.requested" });
    await sessions.close();
    const again = await open(folder);
    const log = await wholeLog(again, id);
    expect(endOf(log)).toEqual({ reason: "interrupted", evidence: "exit" });
    expect(log.find(({ type }) => type === "permission.resolved")).toMatchObject({ data: { status: "reject" } });
    expect(spoken(await turn(again, id, "echo on"))).toBe("on");
    await again.close();
  });

  test("keeps the queue, which runs after the next start of a daemon and not of anyone else", async () => {
    const sessions = await open(folder);
    await sessions.create(id, { agent: "fake", directory: folder });
    await sessions.prompt(id, { text: "hang" });
    const { promptId } = await sessions.prompt(id, { text: "echo later" });
    await sessions.close();
    const beside = await open(folder, { role: "embedded" });
    expect((await beside.get(id)).queue.map(({ prompt_id }) => prompt_id)).toEqual([promptId]);
    await beside.close();
    const daemon = await open(folder);
    const started = await until(daemon, id, { type: "turn.ended" }).then(({ sequence }) =>
      until(daemon, id, { type: "turn.started", after: sequence }),
    );
    expect(started.data).toMatchObject({ prompt_id: promptId, origin: "queue" });
    await until(daemon, id, { type: "turn.ended", after: started.sequence });
    expect(endOf(await wholeLog(daemon, id))).toEqual({ reason: "interrupted", evidence: "restart" });
    expect((await daemon.get(id)).queue).toEqual([]);
    await daemon.close();
  });
});

describe("pruning", () => {
  test("takes what is at rest and old, and nothing else", async () => {
    const sessions = await open(folder);
    const busy = session("busy");
    await sessions.create(id, { agent: "mock", directory: folder });
    await turn(sessions, id, "echo old");
    await sessions.create(busy, { agent: "mock", directory: folder });
    await sessions.prompt(busy, { text: "hang" });
    expect(await sessions.prune({ olderThanMs: 3_600_000 })).toEqual([]);
    // A session of this very millisecond is not older than it.
    for (const now = Date.now(); Date.now() === now; ) await new Promise(setImmediate);
    expect(await sessions.prune({ olderThanMs: 0 })).toEqual([id]);
    expect((await allSessions(sessions)).map(({ sessionId }) => sessionId)).toEqual([busy]);
    await sessions.close();
  });
});

describe("the daemon's lock", () => {
  test("is held by one, names it, and is found once it listens", async () => {
    const lock = lockDaemon(folder);
    expect(await daemonOf(folder)).toBeNull();
    lock.publish({ url: "http://127.0.0.1:1234", token: true });
    expect(await daemonOf(folder)).toMatchObject({ url: "http://127.0.0.1:1234", pid: process.pid });
    expect(() => lockDaemon(folder)).toThrow(/runs on .* already \(process \d+, http:\/\/127\.0\.0\.1:1234\)/);
    lock.release();
    expect(await daemonOf(folder)).toBeNull();
    lockDaemon(folder).release();
  });

  test("of a dead daemon, and of a pid that was used again, is taken over", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(()=>{},1000)"], { stdio: "ignore" });
    const { pid = 0 } = child;
    const started = processTable.startOf(pid);
    child.kill("SIGKILL");
    await once(child, "exit");
    for (const dead of [{ pid, started }, { pid: process.pid, started: "another time" }, "half a fi"]) {
      writeFileSync(
        join(folder, "daemon.lock"),
        typeof dead === "string" ? dead : JSON.stringify({ ...dead, url: "u" }),
      );
      expect(await daemonOf(folder)).toBeNull();
      lockDaemon(folder).release();
    }
  });

  const full = mountTmpfs("64k");
  test.skipIf(full === null)("of a dead daemon is taken over on a full disk", async () => {
    const data = full?.folder ?? "";
    onTestFinished(() => full?.unmount());
    writeFileSync(join(data, "daemon.lock"), JSON.stringify({ pid: process.pid, started: "another time", url: "u" }));
    expect(() => writeFileSync(join(data, "fill"), Buffer.alloc(100_000))).toThrow(/ENOSPC/);
    const lock = lockDaemon(data);
    expect(() => lockDaemon(data)).toThrow(/runs on .* already/);
    lock.publish({ url: "http://127.0.0.1:1234", token: true });
    expect(await daemonOf(data)).toMatchObject({ url: "http://127.0.0.1:1234", pid: process.pid });
    lock.release();
    expect(readdirSync(data)).toEqual(["fill"]);
  });
});

describe("the process table", () => {
  test.each([
    ["this system's", processTable],
    ["by ps", psTable()],
  ])("%s tells processes, their groups, their start and their run", async (_name, table) => {
    const child = spawn("sleep", ["60"], {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, FRANCA_RUN_ID: "run-1" },
    });
    const { pid = 0 } = child;
    await once(child, "spawn");
    const info = table.list(performance.now()).find((one) => one.pid === pid);
    expect(info).toMatchObject({ pid, parent: process.pid, group: pid, run: "run-1", zombie: false });
    const started = table.startOf(pid);
    expect(started).toBe(info?.started);
    expect(isAlive({ pid, started: started ?? "" }, table)).toBe(true);
    expect(isAlive({ pid, started: "another time" }, table)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isAlive({ pid, started: started ?? "" }, table)).toBe(false);
  });
});
