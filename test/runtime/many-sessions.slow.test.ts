/** Many sessions: all of them talking at once, and a long list of them. */
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { emptySnapshot } from "../../src/core/snapshot.ts";
import type { ListQuery } from "../../src/runtime/log/contract.ts";
import { openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import { open, removeFolder, session, spoken, tempFolder, turn } from "../support/sessions.ts";

let folder: string;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => removeFolder(folder));

test("of a thousand sessions that talk at once none loses a word", async () => {
  const sessions = await open(folder);
  onTestFinished(() => sessions.close());
  const ids = Array.from({ length: 1_000 }, (_, number) => session(`talker-${number}`));
  for (const id of ids) await sessions.create(id, { agent: "mock", directory: "/" });
  const turns = await Promise.all(ids.map((id) => turn(sessions, id, "flood 50")));
  const texts = new Set(turns.map(spoken));
  expect(texts.size).toBe(1);
  const deltas = turns.map((events) => events.filter(({ type }) => type === "item.delta").length);
  expect(new Set(deltas)).toEqual(new Set([50]));
  for (const events of turns) {
    const first = events[0]?.sequence ?? 0;
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => first + index));
  }
}, 300_000);

test("a page of a hundred thousand sessions is read like one of a hundred", async () => {
  const log = openSqliteLog({ folder, durability: "normal", version: "test" });
  onTestFinished(() => log.close());
  const owner = { pid: 1, started: "" };
  const make = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number += 1) {
      const id = session(`listed-${number}`);
      const settings = { create: { agent: "mock", directory: `/folder-${number % 2}` }, forkOf: null };
      await log.create({ id, settings, summary: summarise({ id, settings, snapshot: emptySnapshot() }) }, owner);
    }
  };
  const queries: readonly Omit<ListQuery, "limit">[] = [
    { before: null },
    { before: 60 },
    { before: null, directory: "/folder-1" },
    { before: null, agent: "mock" },
    { before: null, status: "running" },
  ];
  const costs = async (): Promise<readonly number[]> => {
    const rows: number[] = [];
    for (const query of queries) {
      const before = log.work().rows;
      await log.list({ ...query, limit: 20 });
      rows.push(log.work().rows - before);
    }
    return rows;
  };
  await make(0, 100);
  const few = await costs();
  expect(few).toEqual([21, 21, 21, 21, 0]);
  await make(100, 100_000);
  expect(await costs()).toEqual(few);
}, 300_000);
