/** Single-bit errors in the first page of a log, with and without a -wal file: each is harmless or is salvaged. */
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { salvagesIn } from "../../src/runtime/log/sqlite/salvage.ts";
import { PAGE_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { open, removeFolder, session, tempFolder, turn, wholeLog } from "../support/sessions.ts";

const id = session("s");
const stopped = tempFolder();
const killed = tempFolder();
let whole: readonly UniversalEvent[] = [];

beforeAll(async () => {
  const sessions = await open(stopped);
  await sessions.create(id, { agent: "fake", directory: stopped });
  for (const word of ["apple", "banana", "cherry"]) await turn(sessions, id, `echo ${word}`);
  whole = await wholeLog(sessions, id);
  await sessions.close();
  // After a clean stop the file holds everything; the next process leaves a -wal file without the first page.
  const next = await open(stopped);
  await turn(next, id, "echo date");
  for (const suffix of ["", "-wal", "-shm"]) {
    copyFileSync(join(stopped, LOG_FILE + suffix), join(killed, LOG_FILE + suffix));
  }
  whole = await wholeLog(next, id);
  await next.close();
});
afterAll(() => {
  for (const folder of [stopped, killed]) removeFolder(folder);
});

function damaged(from: string, damage: (file: string) => void): string {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  for (const suffix of from === killed ? ["", "-wal", "-shm"] : [""]) {
    copyFileSync(join(from, LOG_FILE + suffix), join(folder, LOG_FILE + suffix));
  }
  damage(join(folder, LOG_FILE));
  return folder;
}

function flip(file: string, { at, bit }: { at: number; bit: number }): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8((bytes[at] ?? 0) ^ (1 << bit), at);
  writeFileSync(file, bytes);
}

async function eventsIn(folder: string): Promise<UniversalEvent[]> {
  const log = openSqliteLog({ folder, durability: "normal", version: "test" });
  try {
    const groups = await log.read(id, { after: 0, maxBytes: 100_000_000 });
    return groups.flatMap((group) => [...group.events()]);
  } finally {
    await log.close();
  }
}

/** Every field of the header, in its lowest and in a high bit. */
const HEADER = [0, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 27, 28, 31, 32, 35, 36, 39, 40, 43, 44, 47, 48, 51]
  .concat([52, 55, 56, 59, 60, 63, 64, 67, 68, 71, 72, 92, 95, 96, 99])
  .flatMap((at) => [0, 1, 2, 6].map((bit) => ({ at, bit })));
/** The tree of the schema: its header, pointers, and the statements that create the tables. */
const SCHEMA = [100, 101, 103, 104, 105, 107, 108, 109, 110, 112, 120, 131]
  .concat(Array.from({ length: 60 }, (_, index) => PAGE_BYTES - 1 - index * 53))
  .map((at) => ({ at, bit: at % 7 }));

describe.each([
  ["a stopped", stopped],
  ["a killed", killed],
])("%s daemon's file", (_name, from) => {
  test.each([
    ["header", HEADER],
    ["schema", SCHEMA],
  ])(
    "a bit of the %s loses nothing",
    async (_part, bits) => {
      for (const place of bits) {
        const folder = damaged(from, (file) => flip(file, place));
        const served = await eventsIn(folder).catch(async (error: unknown) => {
          // The one refusal: this may be a file of a newer version. The advice is followed.
          expect(String(error)).toContain(`franca doctor --storage --yes --data ${folder}`);
          const args = ["doctor", "--storage", "--yes", "--data", folder];
          expect(await franca(args, { home: temporaryFolder() })).toMatchObject({ code: 0 });
          return eventsIn(folder);
        });
        expect({ place, served }).toEqual({ place, served: whole });
        // The next start has nothing more to salvage.
        const reports = salvagesIn(folder).length;
        await eventsIn(folder);
        expect(salvagesIn(folder)).toHaveLength(reports);
      }
    },
    120_000,
  );

  test("a first page of zeros loses nothing", async () => {
    const folder = damaged(from, (file) => {
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0, 0, PAGE_BYTES));
    });
    expect(await eventsIn(folder)).toEqual(whole);
    // The -wal file has a first page of its own.
    expect(salvagesIn(folder)).toHaveLength(from === stopped ? 1 : 0);
  });
});

test.each([
  ["is no database", (file: string) => writeFileSync(file, "Just some text. ".repeat(1_000))],
  ["has only zeros", (file: string) => writeFileSync(file, Buffer.alloc(8 * PAGE_BYTES))],
  ["has a cut first page", (file: string) => truncateSync(file, 100)],
])("a file that %s is refused, and the advice works", async (_name, damage) => {
  const folder = damaged(stopped, damage);
  const file = join(folder, LOG_FILE);
  const refused = await eventsIn(folder).catch((error: unknown) => String(error));
  expect(refused).toContain(`Move ${file} away`);
  renameSync(file, `${file}.away`);
  for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
  const sessions = await open(folder);
  onTestFinished(() => sessions.close());
  await sessions.create(id, { agent: "fake", directory: folder });
  await turn(sessions, id, "echo again");
});
