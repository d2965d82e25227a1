/**
 * A data folder with 10,000 sessions, written once by the log's own writer: a recorded conversation under many names.
 * Some were cut in the middle of their turn by a process that is gone, as after a loss of power.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptySnapshot, snapshotFold } from "../../src/core/snapshot.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { itemNumber, sessionId } from "../../src/protocol/ids.ts";
import type { EventLog, Owner, SessionSettings } from "../../src/runtime/log/contract.ts";
import { openSqliteLog } from "../../src/runtime/log/sqlite/open.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import type { Client } from "../../src/sdk/index.ts";
import { bodyOf, checkLog, type Violation } from "./checks.ts";

export interface StoredSessions {
  readonly folder: string;
  readonly remove: () => void;
  /** That all are listed, those that were cut have ended, and the events of some are as they were written. */
  readonly check: (client: Client) => Promise<Violation[]>;
}

const COUNT = 10_000;
/** One of so many was cut. */
const CUT_EVERY = 250;
/** One of so many is read whole afterwards; beside those that were cut. */
const READ_EVERY = 333;
/** Written at once. */
const BATCH = 500;
const RECORDING = join("transcripts", "claude", "thinking", "events.jsonl");
/** No process has it: the largest number that a system gives is smaller. */
const gone: Owner = { pid: 2 ** 30, started: "0" };

const nameOf = (index: number): string => `stored-${index}`;
const isCut = (index: number): boolean => index % CUT_EVERY === 0;

export async function storeSessions(project: string): Promise<StoredSessions> {
  const folder = mkdtempSync(join(tmpdir(), "franca-stored-"));
  const recorded = readFileSync(join(project, RECORDING), "utf8").trimEnd();
  const [first = ""] = recorded.split("\n", 1);
  const { session_id }: UniversalEvent = JSON.parse(first);
  const eventsOf = (index: number): UniversalEvent[] => {
    const lines = recorded.replaceAll(session_id, nameOf(index)).split("\n");
    const events = lines.map((line): UniversalEvent => JSON.parse(line));
    return isCut(index) ? events.slice(0, Math.floor(events.length / 2)) : events;
  };
  const log = openSqliteLog({ folder, durability: "normal", version: "stored" });
  for (let at = 0; at < COUNT; at += BATCH) {
    const indexes = Array.from({ length: Math.min(BATCH, COUNT - at) }, (_, index) => at + index);
    await Promise.all(indexes.map((index) => store(log, index, eventsOf(index))));
  }
  await log.close();
  return {
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
    check: (client) => check(client, eventsOf),
  };
}

async function store(log: EventLog, index: number, events: readonly UniversalEvent[]): Promise<void> {
  const id = sessionId(nameOf(index));
  const settings: SessionSettings = { create: { agent: "claude", directory: "/workspace" }, forkOf: null };
  const snapshot = emptySnapshot();
  for (const event of events) snapshotFold.step(snapshot, event);
  const summary = summarise({ id, settings, snapshot });
  await log.create({ id, settings, summary }, gone);
  const writer = log.openWriter();
  for (const event of events) writer.event(event);
  const items = events.flatMap((event) => {
    const number = event.type === "item.completed" ? itemNumber(event.data.item.item_id) : null;
    return number === null ? [] : [{ number, sequence: event.sequence }];
  });
  await log.append({ session: id, ...writer.finish(), prompts: [], items, summary, checkpoint: null });
  if (!isCut(index)) await log.release(id, gone);
}

async function check(client: Client, eventsOf: (index: number) => readonly UniversalEvent[]): Promise<Violation[]> {
  const found: Violation[] = [];
  const listed = new Map((await client.sessions()).map((summary) => [summary.sessionId, summary]));
  for (let index = 0; index < COUNT; index += 1) {
    const name = nameOf(index);
    const summary = listed.get(sessionId(name));
    if (summary === undefined) found.push({ promise: "lost", what: `${name} is not listed` });
    else if (summary.status !== "idle") found.push({ promise: "hung", what: `${name} is ${summary.status}` });
    if (!isCut(index) && index % READ_EVERY !== 0) continue;
    const { events } = await client.session(name).listEvents({ limit: 1_000 });
    const written = eventsOf(index);
    for (const [at, event] of written.entries()) {
      const kept = events[at];
      if (kept === undefined) found.push({ promise: "lost", what: `${name}: ${event.sequence}` });
      else if (bodyOf(kept) !== bodyOf(event)) found.push({ promise: "changed", what: `${name}: ${event.sequence}` });
    }
    found.push(...checkLog(name, events));
  }
  return found;
}
