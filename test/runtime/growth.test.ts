/**
 * What an event costs does not depend on how many came before it: rows and bytes are counted, not time, in a session
 * of a thousand events and in one of a million.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { emptySnapshot } from "../../src/core/snapshot.ts";
import { encodeSnapshot, loadSnapshot } from "../../src/runtime/log/checkpoints.ts";
import type { Append, EventLog } from "../../src/runtime/log/contract.ts";
import { openTail } from "../../src/runtime/log/follow.ts";
import { openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import { encodeEvents } from "../support/entries.ts";
import { removeFolder, session, tempFolder } from "../support/sessions.ts";

const id = session("long");
const settings = { create: { agent: "mock" }, forkOf: null };
const GROUP = 500;
const LENGTHS = [1_000, 1_000_000];

let folder: string;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => removeFolder(folder));

const openLog = (): EventLog => openSqliteLog({ folder, durability: "normal", version: "test" });
// A few events, stored again and again under other numbers: only how much is read is looked at.
const group = encodeEvents({ id, first: 1, last: 5 });
const snapshotAt = (sequence: number) => ({ ...emptySnapshot(), sequence });

function entryAt(first: number, { checkpoint }: { checkpoint: boolean }): Append {
  const last = first + GROUP - 1;
  const snapshot = snapshotAt(last);
  return {
    session: id,
    events: { ...group, first, last },
    native: null,
    prompts: [],
    items: [],
    summary: summarise({ id, settings, snapshot }),
    checkpoint: checkpoint ? { sequence: last, state: encodeSnapshot(snapshot) } : null,
  };
}

/** Grows the session to a length; the last checkpoint is some groups before its end. */
async function grow(log: EventLog, { from, to }: { from: number; to: number }): Promise<void> {
  for (let first = from + 1; first <= to; first += GROUP) {
    await log.append(entryAt(first, { checkpoint: to - first > GROUP && to - first < 2 * GROUP }));
  }
}

async function counted(log: EventLog, work: () => Promise<unknown>): Promise<{ rows: number; bytes: number }> {
  const before = log.work();
  await work();
  const after = log.work();
  return { rows: after.rows - before.rows, bytes: after.bytes - before.bytes };
}

test("storing, following and opening cost the same after a thousand events and after a million", async () => {
  let log = openLog();
  await log.create(
    { id, settings, summary: summarise({ id, settings, snapshot: emptySnapshot() }) },
    { pid: 1, started: "" },
  );
  const costs: Record<string, unknown>[] = [];
  let length = 0;
  for (const goal of LENGTHS) {
    await grow(log, { from: length, to: goal });
    await log.close();
    log = openLog();
    const opening = await counted(log, () => loadSnapshot(log, id));
    const tail = openTail(log);
    const stop = new AbortController();
    const live = tail.follow(id, { after: goal, signal: stop.signal })[Symbol.asyncIterator]();
    const first = live.next();
    await new Promise((resolve) => setImmediate(resolve));
    const storing = await counted(log, async () => {
      await log.append(entryAt(goal + 1, { checkpoint: false }));
      await first;
    });
    const late = tail.follow(id, { after: goal - GROUP, signal: stop.signal })[Symbol.asyncIterator]();
    const catchingUp = await counted(log, () => late.next());
    stop.abort();
    tail.close();
    costs.push({ opening, storing, catchingUp });
    length = goal + GROUP;
  }
  await log.close();
  const [short, long] = costs;
  expect(long).toEqual(short);
  expect(short).toMatchObject({ storing: { rows: 0, bytes: 0 } });
});
