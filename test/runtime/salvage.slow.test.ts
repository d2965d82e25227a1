/** Every page of a log's file is damaged in turn, and the file is cut at each: what is not damaged is served. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { EventLog } from "../../src/runtime/log/contract.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { salvagesIn } from "../../src/runtime/log/sqlite/salvage.ts";
import { PAGE_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import { temporaryFolder } from "../support/folders.ts";
import { open, removeFolder, session, tempFolder, turn } from "../support/sessions.ts";

const MIDDLE = PAGE_BYTES / 2;
const NEAR_END = PAGE_BYTES - 92;
const names = ["one", "two", "three"];
const original = tempFolder();
let whole: ReadonlyMap<string, readonly UniversalEvent[]>;
let bytes: Buffer;

beforeAll(async () => {
  const sessions = await open(original);
  for (const name of names) {
    await sessions.create(session(name), { agent: "fake", directory: original });
    for (const word of ["apple", "banana", "cherry"]) await turn(sessions, session(name), `echo ${word}`);
    await turn(sessions, session(name), `echo ${name.repeat(4_000)}`);
  }
  await sessions.prompt(session("one"), { text: "echo waiting" });
  await sessions.close();
  bytes = readFileSync(join(original, LOG_FILE));
  whole = await withLog(original, readEverything);
});

afterAll(() => removeFolder(original));

async function withLog<Result>(folder: string, work: (log: EventLog) => Promise<Result>): Promise<Result> {
  const log = openSqliteLog({ folder, durability: "normal", version: "test" });
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

async function readEverything(log: EventLog): Promise<Map<string, readonly UniversalEvent[]>> {
  const { records } = await log.list({ before: null, limit: 100 });
  const all = new Map<string, readonly UniversalEvent[]>();
  for (const { id } of records) {
    const events: UniversalEvent[] = [];
    for (;;) {
      const groups = await log.read(id, { after: events.at(-1)?.sequence ?? 0, maxBytes: 1_000_000 });
      if (groups.length === 0) break;
      for (const group of groups) events.push(...group.events());
    }
    all.set(id, events);
    await log.readNative(id, { after: 0, limit: 10_000 });
    await log.queuedPrompts(id);
  }
  return all;
}

/** The file of the log, changed, in a folder of its own. */
function folderWith(change: (file: string) => void): string {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(original, LOG_FILE), join(folder, LOG_FILE));
  change(join(folder, LOG_FILE));
  return folder;
}

function overwrite(page: number, damage: (page: Buffer) => void): string {
  return folderWith((file) => {
    const changed = Buffer.from(bytes);
    damage(changed.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES));
    writeFileSync(file, changed);
  });
}

/** What is not served is named, and what is served is what was stored. Gives how many events are missing. */
async function expectNamed(folder: string, unnamed = "no such sentence"): Promise<number> {
  const served = await withLog(folder, readEverything);
  const named = salvagesIn(folder).flatMap(({ problems }) => problems);
  let missing = 0;
  for (const [name, events] of whole) {
    const found = served.get(name);
    if (found === undefined) {
      const sentence = `The record of session ${name} is damaged`;
      expect(named.some((one) => one.startsWith(sentence) || one.startsWith(unnamed))).toBe(true);
      missing += events.length;
      continue;
    }
    const bySequence = new Map(found.map((event) => [event.sequence, event]));
    const isDamaged = new Set<number>();
    for (const { type, data } of found) {
      if (type !== "error" || data.code !== "storage_damaged") continue;
      const { first, last } = Object(data.details);
      for (let sequence = first; sequence <= last; sequence += 1) isDamaged.add(sequence);
    }
    for (const event of events) {
      if (isDamaged.has(event.sequence)) missing += 1;
      else expect(bySequence.get(event.sequence)).toEqual(event);
    }
  }
  return missing;
}

const total = () => [...whole.values()].reduce((sum, { length }) => sum + length, 0);

test.each([
  ["zeros", (page: Buffer) => void page.fill(0)],
  ["noise", (page: Buffer) => void page.fill("f7a9c0")],
  ["another kind of page", (page: Buffer) => void page.writeUInt8((page[0] ?? 0) ^ 0x08)],
  ["one byte in the middle", (page: Buffer) => void page.writeUInt8((page[MIDDLE] ?? 0) ^ 0x11, MIDDLE)],
  ["one byte near the end", (page: Buffer) => void page.writeUInt8((page[NEAR_END] ?? 0) ^ 0x11, NEAR_END)],
])("%s in each page in turn", async (_name, damage) => {
  const missing: number[] = [];
  for (let page = 2; page <= bytes.length / PAGE_BYTES; page += 1) {
    missing.push(await expectNamed(overwrite(page, damage)));
  }
  // One page has the records of all sessions. Every other takes the events along that are on it, and most take none.
  const others = missing.toSorted((one, other) => other - one).slice(1);
  expect(Math.max(...others)).toBeLessThan(total() / 3);
  expect(others.filter((count) => count === 0).length).toBeGreaterThan(others.length / 2);
});

test("a file that is cut at any page is served as far as it goes, or refused in words", async () => {
  let opened = 0;
  for (let pages = 1; pages < bytes.length / PAGE_BYTES; pages += 1) {
    const folder = folderWith((file) => truncateSync(file, pages * PAGE_BYTES - (pages % 2) * (PAGE_BYTES / 2)));
    try {
      // Where the end of the file had everything of a session, nothing is left that could name it.
      await expectNamed(folder, "Some of the records of sessions could not be read");
      opened += 1;
    } catch (error) {
      expect(String(error)).toMatch(/is damaged or is no Franca log/);
      // Nothing is left but the schema and empty roots of tables.
      expect(pages).toBeLessThan(8);
      expect(readdirSync(folder)).toContain(LOG_FILE);
    }
  }
  expect(opened).toBeGreaterThan(bytes.length / PAGE_BYTES - 9);
});

/** From the middle on: a page may be free, or belong to one large text, whose damage is noticed when it is read. */
async function salvaged(before: number) {
  const pages = bytes.length / PAGE_BYTES;
  for (let page = Math.floor(pages / 2); page <= pages; page += 1) {
    const folder = overwrite(page, (content) => content.fill(0));
    expect(await withLog(folder, async (log) => log.position())).toBeGreaterThanOrEqual(before);
    const reports = salvagesIn(folder);
    if (reports.length > 0) return { folder, reports };
  }
  throw new Error("None of these pages is missed.");
}

test("what was salvaged goes on: numbers are not given again, and it is named once", async () => {
  const before = await withLog(original, async (log) => log.position());
  const { folder, reports } = await salvaged(before);
  const sessions = await open(folder);
  await turn(sessions, session("two"), "echo again");
  await sessions.close();
  expect(salvagesIn(folder)).toEqual(reports);
  expect(reports).toHaveLength(1);
});
