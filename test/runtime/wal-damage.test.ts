/**
 * Damage to the files that a killed daemon leaves: the database, its -wal file and its -shm file. Whatever was damaged,
 * the log opens, nothing that is missing goes unreported, and no prompt runs twice.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { LOG_FILE, openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { salvagesIn } from "../../src/runtime/log/sqlite/salvage.ts";
import { PAGE_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import { temporaryFolder } from "../support/folders.ts";
import {
  eventsAfter,
  open,
  removeFolder,
  session,
  spoken,
  tempFolder,
  turn,
  until,
  wholeLog,
} from "../support/sessions.ts";

const FRAME_BYTES = PAGE_BYTES + 24;
const WAL_HEADER_BYTES = 32;
const id = session("s");
const words = ["apple", "banana", "cherry", "date", "elder", "fig", "grape", "hazel"];
const origin = tempFolder();
/** As `kill -9` would leave them. */
const killed = tempFolder();
/** Of another log with the same tables. */
const foreign = tempFolder();
let whole: readonly UniversalEvent[] = [];

async function leaveKilled(from: string, to: string): Promise<UniversalEvent[]> {
  const sessions = await open(from);
  await sessions.create(id, { agent: "fake", directory: from });
  for (const word of words) await turn(sessions, id, `echo ${word}`);
  mkdirSync(to, { recursive: true });
  for (const suffix of ["", "-wal", "-shm"]) copyFileSync(join(from, LOG_FILE + suffix), join(to, LOG_FILE + suffix));
  const events = await wholeLog(sessions, id);
  await sessions.close();
  return events;
}

beforeAll(async () => {
  whole = await leaveKilled(origin, killed);
  const other = tempFolder();
  await leaveKilled(other, foreign);
  removeFolder(other);
});
afterAll(() => {
  for (const folder of [origin, killed, foreign]) removeFolder(folder);
});

const SUFFIXES = ["", "-wal", "-shm"] as const;

/** A copy of the killed log, changed by `damage`. */
function damaged(damage: (file: string) => void): string {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  for (const suffix of SUFFIXES) copyFileSync(join(killed, LOG_FILE + suffix), join(folder, LOG_FILE + suffix));
  damage(join(folder, LOG_FILE));
  return folder;
}

function change(file: string, edit: (bytes: Buffer) => void): void {
  const bytes = readFileSync(file);
  edit(bytes);
  writeFileSync(file, bytes);
}

const flip = (file: string, at: number, bit = 0): void =>
  change(file, (bytes) => void bytes.writeUInt8((bytes[at] ?? 0) ^ (1 << bit), at));

const frames = (): number => Math.floor((readFileSync(join(killed, `${LOG_FILE}-wal`)).length - 32) / FRAME_BYTES);

/** The events that are served, and what is reported. */
async function openDamaged(folder: string) {
  const log = openSqliteLog({ folder, durability: "normal", version: "test" });
  onTestFinished(() => log.close());
  const served: UniversalEvent[] = [];
  for (const group of await log.read(id, { after: 0, maxBytes: 100_000_000 })) served.push(...group.events());
  const problems = salvagesIn(folder).flatMap((salvage) => salvage.problems);
  return { log, served, problems, isReported: salvagesIn(folder).length > 0 };
}

/** Each event is served as it was, lies in a range that is named, or was stored right before the crash. */
function expectPrefix(served: readonly UniversalEvent[]): number {
  const named = new Set<number>();
  for (const { type, data } of served) {
    if (type !== "error" || data.code !== "storage_damaged") continue;
    const { first, last } = Object(data.details);
    for (let sequence = first; sequence <= last; sequence += 1) named.add(sequence);
  }
  const bySequence = new Map(served.map((event) => [event.sequence, event]));
  const end = served.at(-1)?.sequence ?? 0;
  const kept = whole.filter(({ sequence }) => sequence <= end && !named.has(sequence));
  expect(kept.map(({ sequence }) => bySequence.get(sequence))).toEqual(kept);
  return kept.length;
}

test("files that a killed process leaves are opened without a report", async () => {
  const { served, isReported } = await openDamaged(damaged(() => {}));
  expect(served).toEqual(whole);
  expect(isReported).toBe(false);
});

test("a bit in the middle of the -wal file loses at most the events on one page", async () => {
  expect(frames()).toBeGreaterThan(20);
  for (let frame = 0; frame < frames(); frame += 9) {
    const folder = damaged((file) => flip(`${file}-wal`, WAL_HEADER_BYTES + frame * FRAME_BYTES + 2_000, 3));
    const { log, served, isReported } = await openDamaged(folder);
    expect([frame, isReported]).toEqual([frame, true]);
    expect(expectPrefix(served)).toBeGreaterThan(whole.length / 2);
    await log.close();
  }
});

test.each([0, 5, 17, 25])("a bit in byte %i of the header of a frame, or of the -wal file", async (at) => {
  for (const start of [0, WAL_HEADER_BYTES + 10 * FRAME_BYTES]) {
    const { served, isReported } = await openDamaged(damaged((file) => flip(`${file}-wal`, start + at)));
    expect(isReported).toBe(true);
    expect(expectPrefix(served)).toBeGreaterThan(whole.length / 2);
  }
});

test.each([
  ["cut at a frame", (file: string) => truncateSync(`${file}-wal`, WAL_HEADER_BYTES + 12 * FRAME_BYTES)],
  ["cut in a frame", (file: string) => truncateSync(`${file}-wal`, WAL_HEADER_BYTES + 12 * FRAME_BYTES + 99)],
  [
    "cut at its last frame",
    (file: string) => truncateSync(`${file}-wal`, WAL_HEADER_BYTES + (frames() - 1) * FRAME_BYTES),
  ],
  ["empty", (file: string) => truncateSync(`${file}-wal`, 0)],
  ["gone", (file: string) => rmSync(`${file}-wal`)],
  ["that of another log", (file: string) => copyFileSync(join(foreign, `${LOG_FILE}-wal`), `${file}-wal`)],
  ["zeros", (file: string) => change(`${file}-wal`, (bytes) => void bytes.fill(0))],
])("a -wal file that is %s is reported", async (_name, damage) => {
  const folder = damaged(damage);
  const log = openSqliteLog({ folder, durability: "normal", version: "test" });
  onTestFinished(() => log.close());
  const [report] = salvagesIn(folder);
  expect(report?.problems.join("\n")).toMatch(/may be missing/);
  if ((await log.find(id)) !== null) {
    const groups = await log.read(id, { after: 0, maxBytes: 100_000_000 });
    expectPrefix(groups.flatMap((group) => group.events()));
  }
});

test.each([
  ["gone", (file: string) => rmSync(`${file}-shm`)],
  ["empty", (file: string) => truncateSync(`${file}-shm`, 0)],
  ["noise", (file: string) => change(`${file}-shm`, (bytes) => void bytes.fill("f7a9c0"))],
])("a -shm file that is %s loses nothing", async (_name, damage) => {
  const { served, isReported } = await openDamaged(damaged(damage));
  expect(served).toEqual(whole);
  expect(isReported).toBe(false);
});

test("a database that was cut, with its -wal file, is salvaged with everything in the -wal file", async () => {
  const bytes = readFileSync(join(killed, LOG_FILE)).length;
  for (let kept = 0; kept < bytes; kept += PAGE_BYTES) {
    const { log, served } = await openDamaged(damaged((file) => truncateSync(file, kept)));
    expect(served).toEqual(whole);
    await log.close();
  }
});

test("a database that is gone is salvaged from its -wal file", async () => {
  const { served, isReported } = await openDamaged(damaged((file) => rmSync(file)));
  expect(served).toEqual(whole);
  expect(isReported).toBe(true);
});

test("the damaged files are kept together, and the next start reports no new damage", async () => {
  const folder = damaged((file) => flip(`${file}-wal`, WAL_HEADER_BYTES + 10 * FRAME_BYTES + 2_000));
  await (await openDamaged(folder)).log.close();
  await (await openDamaged(folder)).log.close();
  const reports = salvagesIn(folder);
  expect(reports).toHaveLength(1);
  for (const { kept } of reports) for (const suffix of ["", "-wal"]) expect(existsSync(kept + suffix)).toBe(true);
});

/** The files that `kill -9` leaves after acknowledged prompts have waited and run, changed by `damage`. */
async function waitingPrompts(damage: (file: string) => void): Promise<string> {
  const from = tempFolder();
  const folder = temporaryFolder();
  const sessions = await open(from);
  await sessions.create(id, { agent: "fake", directory: tmpdir() });
  await sessions.prompt(id, { text: "hang" });
  await until(sessions, id, { type: "turn.started" });
  for (const word of words) await sessions.prompt(id, { text: `echo ${word}`, idempotencyKey: word });
  await sessions.abort(id, { clearQueue: false });
  await sessions.prompt(id, { text: "echo end" });
  for await (const { type, data } of eventsAfter(sessions, id))
    if (type === "item.delta" && data.delta === "end") break;
  for (const suffix of SUFFIXES) copyFileSync(join(from, LOG_FILE + suffix), join(folder, LOG_FILE + suffix));
  await sessions.close();
  removeFolder(from);
  damage(join(folder, LOG_FILE));
  return folder;
}

const frameCount = (file: string): number => Math.floor((statSync(file).size - WAL_HEADER_BYTES) / FRAME_BYTES);

test.each([0.3, 0.5, 0.8])(
  "a prompt runs at most once when the -wal file is cut at %f of its length",
  async (share) => {
    const folder = await waitingPrompts((file) => {
      const kept = Math.floor(frameCount(`${file}-wal`) * share);
      truncateSync(`${file}-wal`, WAL_HEADER_BYTES + kept * FRAME_BYTES);
    });
    const { log } = await openDamaged(folder);
    const stored = (await log.find(id))?.summary.lastSequence ?? 0;
    await log.close();
    const sessions = await open(folder);
    onTestFinished(() => sessions.close());
    expect(sessions.salvaged.join()).toMatch(/was damaged/);
    await turn(sessions, id, "echo later");
    // Every prompt had run before the damage: of those, none runs again.
    const added = (await wholeLog(sessions, id)).slice(stored);
    expect(added.filter(({ type }) => type === "turn.started")).toHaveLength(1);
    expect(spoken(added)).toBe("later");
    expect((await sessions.get(id)).queue).toEqual([]);
  },
);
