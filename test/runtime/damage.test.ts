/** Bytes of the log's file change behind our back: what is damaged is reported, never served. */
import { spawnSync } from "node:child_process";
import { closeSync, cpSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { blob, integer } from "../../src/runtime/log/rows.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { PAGE_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { eventsAfter, open, removeFolder, session, spoken, tempFolder, turn } from "../support/sessions.ts";
import { mountTmpfs } from "../support/tmpfs.ts";

const id = session("s");
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

interface Place {
  readonly first: number;
  readonly last: number;
}

/** Changes one letter in a stored row that holds the text, so that it would still be valid JSON. */
function damage(table: "groups" | "native", text: string): Place {
  const database = openDatabase(join(folder, LOG_FILE));
  try {
    const key = table === "groups" ? "position" : "key";
    for (const row of database.prepare(`SELECT ${key} AS place, first, last, body FROM ${table}`).all()) {
      const body = Buffer.from(blob(row, "body"));
      const at = body.indexOf(text);
      if (at < 0) continue;
      body[at] = "X".charCodeAt(0);
      database.prepare(`UPDATE ${table} SET body = ? WHERE ${key} = ?`).run(body, integer(row, "place"));
      return { first: integer(row, "first"), last: integer(row, "last") };
    }
  } finally {
    database.close();
  }
  throw new Error(`${text} is not in ${table}.`);
}

/** Three turns, and what a reader sees of them. */
async function threeTurns(): Promise<UniversalEvent[]> {
  const opened = await open(folder);
  await opened.create(id, { agent: "fake", directory: folder });
  for (const word of ["apple", "banana", "cherry"]) await turn(opened, id, `echo ${word}`);
  const { events } = await opened.events(id, { offset: 0, limit: 1000, includeRaw: false });
  await opened.close();
  return [...events];
}

const outside = ({ first, last }: Place, events: readonly UniversalEvent[]): UniversalEvent[] =>
  events.filter(({ sequence }) => sequence < first || sequence > last);

test.each(["test", "another version"])("one error in the place of a damaged group (%s)", async (version) => {
  const before = await threeTurns();
  const place = damage("groups", 'banana"');
  sessions = await open(folder, { version });
  const { events, hasMore } = await sessions.events(id, { offset: 0, limit: 1000, includeRaw: true });
  expect(hasMore).toBe(false);
  const reports = events.filter(({ type }) => type === "error");
  expect(reports).toMatchObject([
    { sequence: place.last, source: "daemon", data: { code: "storage_damaged", details: place, fatal: false } },
  ]);
  expect(JSON.stringify(reports)).toContain(`session ${id}`);
  expect(JSON.stringify(events)).not.toContain("Xanana");
  const kept = outside(place, events).map(({ raw: _raw, ...event }) => event);
  expect(kept).toEqual(outside(place, before).map(({ raw: _raw, ...event }) => event));

  const followed: UniversalEvent[] = [];
  for await (const event of eventsAfter(sessions, id)) {
    followed.push(event);
    if (event.sequence === before.length) break;
  }
  expect(followed.map(({ sequence }) => sequence)).toEqual(events.map(({ sequence }) => sequence));
  // A reader who had got as far as the middle of the damage goes on behind it.
  for await (const event of eventsAfter(sessions, id, { after: place.first })) {
    expect(event.sequence).toBeGreaterThanOrEqual(place.last);
    break;
  }
  expect(await sessions.get(id)).toMatchObject({ status: "idle", lastSequence: before.length });
  expect(spoken(await turn(sessions, id, "echo date"))).toBe("date");
});

test("damage at the end of a session hangs nobody", async () => {
  const before = await threeTurns();
  const place = damage("groups", 'cherry"');
  sessions = await open(folder, { version: "another version" });
  expect((await sessions.get(id)).lastSequence).toBeGreaterThanOrEqual(place.last);
  expect(before.length).toBeGreaterThanOrEqual(place.last);
  expect(spoken(await turn(sessions, id, "echo date"))).toBe("date");
});

test("damaged native lines are one line that says so", async () => {
  await threeTurns();
  const place = damage("native", "banana");
  sessions = await open(folder);
  const { lines } = await sessions.native(id, { offset: 0, limit: 1000 });
  expect(JSON.stringify(lines)).not.toContain("Xanana");
  expect(lines.filter(({ line }) => line >= place.first && line <= place.last)).toMatchObject([
    { line: place.last, native: { code: "storage_damaged", ...place } },
  ]);
});

async function found(data: string): Promise<object[]> {
  const log = openSqliteLog({ folder: data, durability: "normal", version: "test" });
  const damages: object[] = [];
  for await (const one of log.verify()) damages.push(one);
  await log.close();
  return damages;
}

test("a log from before there were checksums gets them, and is checked from then on", async () => {
  const old = join(import.meta.dirname, "..", "data", "data-folders", "schema-2", LOG_FILE);
  cpSync(old, join(folder, LOG_FILE));
  expect(await found(folder)).toEqual([]);
  const place = damage("groups", "turn.ended");
  expect(await found(folder)).toMatchObject([{ kind: "events", ...place }]);
});

test("a group that is gone from its table is named too", async () => {
  const before = await threeTurns();
  const place = damage("groups", 'banana"');
  const database = openDatabase(join(folder, LOG_FILE));
  database.prepare("DELETE FROM groups WHERE last = ?").run(place.last);
  database.close();
  sessions = await open(folder, { version: "another version" });
  const { events } = await sessions.events(id, { offset: 0, limit: 1000, includeRaw: false });
  expect(events.filter(({ type }) => type === "error")).toMatchObject([
    { sequence: place.last, data: { code: "storage_damaged", details: place } },
  ]);
  expect(outside(place, events)).toEqual(outside(place, before));
});

/** Bytes of the file's pages, without a look at what they are. */
function overwritePage(number: number): void {
  const file = openSync(join(folder, LOG_FILE), "r+");
  writeSync(file, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, (number - 1) * PAGE_BYTES);
  closeSync(file);
}

function rootOf(name: string): number {
  const database = openDatabase(join(folder, LOG_FILE));
  try {
    return integer(database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(name) ?? {}, "rootpage");
  } finally {
    database.close();
  }
}

test("a damaged index takes nothing along, and the damaged file is kept", async () => {
  const before = await threeTurns();
  overwritePage(rootOf("groups_by_session"));
  sessions = await open(folder);
  const { events } = await sessions.events(id, { offset: 0, limit: 1000, includeRaw: false });
  expect(events).toEqual(before);
  const [damage] = sessions.salvaged;
  expect(damage).toMatch(
    /was damaged and was copied .* nothing is missing\. The damaged file is .*franca\.db\.damaged-/,
  );
  expect(spoken(await turn(sessions, id, "echo date"))).toBe("date");
});

test("a session whose record is damaged is named, and others are served", async () => {
  await threeTurns();
  overwritePage(rootOf("sessions"));
  sessions = await open(folder);
  await expect(sessions.get(id)).rejects.toMatchObject({ code: "session_not_found" });
  await sessions.create(session("next"), { agent: "fake", directory: folder });
  expect(spoken(await turn(sessions, session("next"), "echo date"))).toBe("date");
  await sessions.close();
  sessions = null;
  const { code, stdout } = await franca(["doctor", "mock", "--data", folder], { home: temporaryFolder() });
  expect(code).toBe(1);
  expect(stdout).toContain(`storage: The record of session ${id} is damaged, and the session cannot be served.`);
});

test("franca doctor names what is damaged, and fails", async () => {
  await threeTurns();
  const { first, last } = damage("groups", 'banana"');
  const { code, stdout } = await franca(["doctor", "mock", "--data", folder], { home: temporaryFolder() });
  expect(code).toBe(1);
  expect(stdout).toContain(`storage: The stored events ${first} to ${last} of session ${id} are damaged`);
});

test("whether anything can be stored is known, and known again when it can", async () => {
  sessions = await open(folder, { store: { kind: "sqlite", folder, maxBytes: 300_000 } });
  expect(sessions.storageFailure()).toBeNull();
  await sessions.create(id, { agent: "fake", directory: folder });
  const other = session("other");
  await sessions.create(other, { agent: "fake", directory: folder });
  const refused = sessions.prompt(id, { text: "x".repeat(400_000) });
  await expect(refused).rejects.toMatchObject({ code: "storage_error" });
  expect(sessions.storageFailure()).toContain("no room left");
  await sessions.prompt(other, { text: "echo small" });
  expect(sessions.storageFailure()).toBeNull();
});

const full = mountTmpfs("64k");
test.skipIf(full === null)("a full folder at the start is a sentence, not a stack", async () => {
  const data = full?.folder ?? "";
  onTestFinished(() => full?.unmount());
  spawnSync("dd", ["if=/dev/zero", `of=${data}/fill`, "bs=1k", "count=100"], { stdio: "ignore" });
  for (const args of [
    ["serve", "--port", "0"],
    ["serve", "--port", "0", "--no-token"],
    ["run", "--", "echo"],
  ]) {
    const words = [args[0] ?? "", "--data", data, ...args.slice(1)];
    const { code, stderr } = await franca(words, { home: temporaryFolder() });
    expect([words, code]).toEqual([words, 1]);
    expect(stderr).toMatch(/^franca: There is no room left for .*\n$/);
  }
});
