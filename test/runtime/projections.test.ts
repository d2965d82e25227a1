/** What projections store in the log: the same promises in memory and in SQLite, and what is SQLite's own. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openMemoryLog } from "../../src/runtime/log/memory/open.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { change, describeProjections, end, fill, id, put } from "../support/projection-contract.ts";
import { open, removeFolder, tempFolder, turn, wholeLog } from "../support/sessions.ts";

describeProjections("memory", () => openMemoryLog());
describeProjections("sqlite", (own) => openSqliteLog({ folder: own, durability: "normal", version: "1" }));

describe("the file", () => {
  let folder: string;
  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => removeFolder(folder));
  const count = (table: string): unknown => {
    const database = openDatabase(join(folder, LOG_FILE));
    const row = database.prepare(`SELECT count(*) AS n FROM ${table}`).get();
    database.close();
    return row?.n;
  };

  test("what another version put by is not read, and not gone on from", async () => {
    const first = openSqliteLog({ folder, durability: "normal", version: "1" });
    await fill(first);
    await first.projections.keep(id, "p", change(0, 10, put("s", "a")));
    await first.close();
    const next = openSqliteLog({ folder, durability: "normal", version: "2" });
    expect(await next.projections.checkpoint(id, { name: "p", upTo: end })).toBeNull();
    expect(await next.projections.keep(id, "p", change(10, 20))).toBe(false);
    await next.projections.clear(id, "p");
    expect(await next.projections.keep(id, "p", change(0, 20))).toBe(true);
    await next.delete(id);
    await next.close();
    expect([count("projections"), count("records")]).toEqual([0, 0]);
  });

  test("one of the first schema becomes one of today's, with all that is in it", async () => {
    const before = await open(folder);
    await before.create(id, { agent: "mock", directory: folder });
    await turn(before, id, "tool");
    const log = await wholeLog(before, id);
    await before.close();
    const database = openDatabase(join(folder, LOG_FILE));
    database.exec("DROP TABLE projections; DROP TABLE records");
    database.exec("DROP INDEX sessions_by_status; DROP INDEX sessions_by_agent; DROP INDEX sessions_by_directory");
    database.exec("ALTER TABLE sessions DROP COLUMN checksum; ALTER TABLE sessions DROP COLUMN summary_checksum");
    database.exec("ALTER TABLE prompts DROP COLUMN checksum; ALTER TABLE checkpoints DROP COLUMN checksum");
    database.exec("ALTER TABLE groups DROP COLUMN checksum; ALTER TABLE native DROP COLUMN checksum");
    database.exec("ALTER TABLE sessions DROP COLUMN agent; ALTER TABLE sessions DROP COLUMN directory");
    database.exec("PRAGMA user_version = 1");
    database.close();
    const after = await open(folder);
    expect(await wholeLog(after, id)).toEqual(log);
    const kept = await after.projections.keep(id, "p", change(0, 1, put("s", "a")));
    expect(kept).toBe(true);
    await turn(after, id, "echo on");
    await after.close();
    expect([count("projections"), count("records")]).toEqual([1, 1]);
  });
});
