/** The event log in memory and in SQLite: what every log promises, and what is SQLite's own. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openMemoryLog } from "../../src/runtime/log/memory/open.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { PAGE_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import { encodeEvents } from "../support/entries.ts";
import { a, create, describeLog, entry, spans, summaryAt } from "../support/log-contract.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";

describeLog("memory", () => openMemoryLog());
describeLog("sqlite", (folder) => openSqliteLog({ folder, durability: "normal", version: "1" }));
describeLog("sqlite with full durability", (folder) => openSqliteLog({ folder, durability: "full", version: "1" }));

describe("sqlite", () => {
  let folder: string;
  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => removeFolder(folder));
  const openLog = (version = "1") => openSqliteLog({ folder, durability: "normal", version });

  test("a session that another process deletes and makes again is the new one here", async () => {
    const here = openLog();
    const there = openLog();
    await create(there, a);
    await there.append(entry(a, 1, 3));
    expect(spans(await here.read(a, { after: 0, maxBytes: 1e6 }))).toEqual([[1, 3]]);
    await there.delete(a);
    await expect(here.read(a, { after: 0, maxBytes: 1e6 })).rejects.toMatchObject({ code: "session_not_found" });
    await create(there, a);
    await there.append(entry(a, 1, 1));
    expect(spans(await here.read(a, { after: 0, maxBytes: 1e6 }))).toEqual([[1, 1]]);
    await here.append(entry(a, 2, 2));
    expect(spans(await there.read(a, { after: 1, maxBytes: 1e6 }))).toEqual([[2, 2]]);
    await here.close();
    await there.close();
  });

  test("what was stored is there after opening again, for this user alone", async () => {
    const log = openLog();
    await create(log, a);
    await log.append(entry(a, 1, 9, { checkpoint: { sequence: 9, state: "s" } }));
    await log.close();
    expect(statSync(join(folder, LOG_FILE)).mode & 0o077).toBe(0);
    const again = openLog();
    expect(spans(await again.read(a, { after: 0, maxBytes: 1 }))).toEqual([[1, 9]]);
    expect(await again.checkpoint(a)).toEqual({ sequence: 9, state: "s" });
    await again.close();
    const newer = openLog("2");
    expect(await newer.checkpoint(a)).toBeNull();
    await newer.close();
  });

  test("deleting gives the room back", async () => {
    const log = openLog();
    await create(log, a);
    for (let from = 1; from < 5_000; from += 500) await log.append(entry(a, from, from + 499));
    const full = log.size();
    await log.delete(a);
    expect(log.size()).toBeLessThan(full / 4);
    await log.close();
  });

  test("a busy log is checkpointed without a quiet moment, and leaves nothing behind when it is closed", async () => {
    const log = openLog();
    await create(log, a);
    const file = join(folder, LOG_FILE);
    const empty = statSync(file).size;
    // One append follows the other, so there is no quiet moment.
    let first = 1;
    const append = () => {
      first += 10;
      return log.append(entry(a, first - 10, first - 1));
    };
    const deadline = performance.now() + 30_000;
    while (statSync(file).size < empty + 100_000 && performance.now() < deadline) await append();
    expect(statSync(file).size).toBeGreaterThanOrEqual(empty + 100_000);
    expect((await log.read(a, { after: first - 2, maxBytes: 1 }))[0]?.last).toBe(first - 1);
    await log.close();
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  });

  test("work is independent of the offset and of the length", async () => {
    const log = openLog();
    await create(log, a);
    const groups = 2_000;
    const size = 500;
    const encoded = encodeEvents({ id: a, first: 1, last: size });
    for (let at = 0; at < groups; at += 1) {
      const first = at * size + 1;
      const events = { ...encoded, first, last: first + size - 1 };
      await log.append({ ...entry(a, 1, 1), events, native: null, summary: summaryAt(a, events.last) });
    }
    const costs = [];
    for (const after of [0, 1, 250_000, 499_999, 777_777, 999_999]) {
      const before = log.work();
      const [group] = await log.read(a, { after, maxBytes: 1 });
      expect(group?.first).toBeLessThanOrEqual(after + 1);
      expect(group?.last).toBeGreaterThan(after);
      const now = log.work();
      costs.push([now.rows - before.rows, now.bytes - before.bytes]);
    }
    expect(costs).toEqual(costs.map(() => [1, encoded.bytes.length]));
    await log.close();
  });

  test("a damaged file, and one of another program, are refused by name with what to do", async () => {
    const log = openLog();
    await create(log, a);
    for (let from = 1; from < 3_000; from += 500) await log.append(entry(a, from, from + 499));
    await log.close();
    const file = join(folder, LOG_FILE);
    const bytes = readFileSync(file);
    // Every page but the first is overwritten: the tables' contents are gone.
    writeFileSync(file, Buffer.concat([bytes.subarray(0, PAGE_BYTES), Buffer.alloc(bytes.length - PAGE_BYTES, 0x5a)]));
    expect(openLog).toThrow(/franca\.db is damaged.*backup/s);
    writeFileSync(file, "this is not a database at all, but long enough to be read as one".repeat(100));
    expect(openLog).toThrow(/franca\.db is damaged or is no Franca log/);
    const foreign = join(folder, "foreign");
    mkdirSync(foreign);
    const theirs = openDatabase(join(foreign, LOG_FILE));
    theirs.exec("CREATE TABLE notes (text TEXT)");
    theirs.close();
    expect(() => openSqliteLog({ folder: foreign, durability: "normal", version: "1" })).toThrow(/another program/);
  });

  test("a file of a newer schema is left alone", () => {
    void openLog().close();
    const file = join(folder, LOG_FILE);
    const database = openDatabase(file);
    database.exec("PRAGMA user_version = 999");
    database.close();
    expect(openLog).toThrow(/newer Franca/);
  });
});
