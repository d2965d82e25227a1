/** What projections put by in the log: the same promises in memory and in SQLite. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { emptySnapshot } from "../../src/core/snapshot.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { EventLog, ProjectionChange, RecordChange } from "../../src/runtime/log/contract.ts";
import { openMemoryLog } from "../../src/runtime/log/memory/open.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import { encodeEvents } from "../support/entries.ts";
import { open, removeFolder, session, tempFolder, turn, wholeLog } from "../support/sessions.ts";

const id = session("a");
const settings = { create: { agent: "fake", directory: "/" }, forkOf: null };
const summaryAt = (sequence: number) => summarise({ id, settings, snapshot: { ...emptySnapshot(), sequence } });
const end = Number.MAX_SAFE_INTEGER;

async function fill(log: EventLog, own: SessionId = id): Promise<void> {
  await log.create({ id: own, settings, summary: summaryAt(0) }, { pid: 1, started: "a" });
  const events = encodeEvents({ id: own, first: 1, last: 100 });
  const rest = { native: null, prompts: [], items: [], checkpoint: null };
  await log.append({ session: own, events, summary: summaryAt(100), ...rest });
}

const put = (scope: string, ...ids: string[]): RecordChange[] =>
  ids.map((own) => ({ type: "put", scope, id: own, body: `${scope} ${own}` }));

const change = (after: number, sequence: number, records: readonly RecordChange[] = []): ProjectionChange => ({
  after,
  checkpoint: { sequence, state: Buffer.from(`state ${sequence}`), known: Buffer.from(`known ${sequence}`) },
  records,
});

let folder: string;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => removeFolder(folder));

const logs = {
  memory: (): EventLog => openMemoryLog(),
  sqlite: (): EventLog => openSqliteLog({ folder, durability: "normal", version: "1" }),
};

describe.each(Object.entries(logs))("%s", (_, openLog) => {
  let log: EventLog;
  beforeEach(async () => {
    log = openLog();
    await fill(log);
  });
  afterEach(() => log.close());

  test("a checkpoint at or before a sequence, the latest with all that was known", async () => {
    const { projections } = log;
    const at = async (upTo: number) => {
      const found = await projections.checkpoint(id, { name: "p", upTo });
      return found === null
        ? null
        : [found.sequence, Buffer.from(found.state).toString(), found.known === null ? null : "known"];
    };
    expect(await at(end)).toBeNull();
    expect(await projections.keep(id, "p", change(0, 10))).toBe(true);
    expect(await projections.keep(id, "p", change(10, 20))).toBe(true);
    expect([await at(9), await at(10), await at(19), await at(end)]).toEqual([
      null,
      [10, "state 10", null],
      [10, "state 10", null],
      [20, "state 20", "known"],
    ]);
    expect(await projections.checkpoint(id, { name: "other", upTo: end })).toBeNull();
  });

  test("nobody who does not go on from what is there, and nothing that has not happened yet", async () => {
    const { projections } = log;
    expect(await projections.keep(id, "p", change(5, 10))).toBe(false);
    expect(await projections.keep(id, "p", change(0, 101))).toBe(false);
    expect(await projections.keep(id, "p", change(0, 10, put("s", "a")))).toBe(true);
    expect(await projections.keep(id, "p", change(0, 20, put("s", "b")))).toBe(false);
    expect(await projections.record(id, { name: "p", scope: "s", id: "b" })).toBeNull();
  });

  test("records stand in the order they first came, and are read from either end", async () => {
    const { projections } = log;
    const read = async (from: { after: number } | { before: number }, limit: number) =>
      (await projections.records(id, { name: "p", scope: "s", from, limit })).map((one) => one.id).join("");
    const placeOf = async (own: string) =>
      (await projections.record(id, { name: "p", scope: "s", id: own }))?.place ?? Number.NaN;
    await projections.keep(id, "p", change(0, 10, [...put("s", "c", "a", "b"), ...put("t", "x")]));
    await projections.keep(id, "p", change(10, 20, [...put("s", "d"), ...put("s", "a")]));
    expect(await read({ after: 0 }, 9)).toBe("cabd");
    expect(await read({ after: await placeOf("c") }, 2)).toBe("ab");
    expect(await read({ before: end }, 2)).toBe("bd");
    expect(await read({ before: await placeOf("b") }, 9)).toBe("ca");
    await projections.keep(
      id,
      "p",
      change(20, 30, [
        { type: "remove", scope: "s", id: "a" },
        { type: "clear", scope: "t" },
      ]),
    );
    expect(await read({ after: 0 }, 9)).toBe("cbd");
    expect(await projections.record(id, { name: "p", scope: "t", id: "x" })).toBeNull();
    await projections.clear(id, "p");
    expect(await read({ after: 0 }, 9)).toBe("");
    expect(await projections.checkpoint(id, { name: "p", upTo: end })).toBeNull();
  });

  test("a session that is deleted takes it along", async () => {
    await log.projections.keep(id, "p", change(0, 10, put("s", "a")));
    await log.delete(id);
    await expect(log.projections.record(id, { name: "p", scope: "s", id: "a" })).rejects.toThrow(/no session/);
    await fill(log);
    expect(await log.projections.record(id, { name: "p", scope: "s", id: "a" })).toBeNull();
    expect(await log.projections.checkpoint(id, { name: "p", upTo: end })).toBeNull();
  });
});

describe("the file", () => {
  const count = (table: string): unknown => {
    const database = openDatabase(join(folder, LOG_FILE));
    const row = database.prepare(`SELECT count(*) AS n FROM ${table}`).get();
    database.close();
    return row?.n;
  };

  test("what another version put by is not read, and not gone on from", async () => {
    const first = logs.sqlite();
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
    database.exec("DROP INDEX sessions_by_agent; DROP INDEX sessions_by_directory");
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
