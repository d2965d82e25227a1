/** What is looked at when the faults of a plan are over: damage that is made then, and what is left at the end. */
import { readdirSync, readFileSync, readlinkSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { blob, integer } from "../../src/runtime/log/rows.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { salvagesIn } from "../../src/runtime/log/sqlite/salvage.ts";
import { PAGE_BYTES } from "../../src/runtime/log/sqlite/schema.ts";
import type { Client, Session } from "../../src/sdk/index.ts";
import { bodyOf, checkDamaged, type Violation } from "./checks.ts";
import type { FaultClient } from "./client.ts";
import type { DaemonHost, Resources } from "./daemon.ts";
import type { Step } from "./plan.ts";

export const GONE_MS = 15_000;
/** An agent that has said nothing for so long is stopped, so that the plan ends. */
export const SILENCE_MS = 1_200;
const MORE_FILES = 12;
const MORE_MEMORY = 300;
const READS = 5;
/** The pages of a log that the schema and the roots of its tables of sessions and events need. */
const TABLES_BYTES = 8 * PAGE_BYTES;
/** Deleted at once. */
const BATCH = 20;

/** Steps that harm the log's file: they come last, because nothing is whole after them. */
export type Last = Extract<Step, { type: "damage" | "truncate" }>;
export const isLast = (step: Step): step is Last => step.type === "damage" || step.type === "truncate";

export const storedOf = (events: readonly UniversalEvent[]) =>
  new Map(events.map((event) => [event.sequence, bodyOf(event)]));

/** What is left of a plan's world. */
export interface Remains {
  readonly host: DaemonHost;
  readonly client: () => Client;
  readonly names: readonly string[];
  readonly baseline: Resources | null;
}

export async function readLog(session: Session): Promise<readonly UniversalEvent[]> {
  const all: UniversalEvent[] = [];
  for (;;) {
    const { events, hasMore } = await session.listEvents({ offset: all.at(-1)?.sequence ?? 0, limit: 1_000 });
    all.push(...events);
    if (!hasMore) return all;
  }
}

/**
 * The log of a session when its clients have all of it. An agent may still say something after its turn: what came in
 * between is read again, a few times at most, so that an event that was seen and is not stored is found.
 */
export async function readWithClients(
  session: Session,
  clients: readonly Pick<FaultClient, "received">[],
  withinMs = GONE_MS,
): Promise<readonly UniversalEvent[]> {
  const until = Date.now() + withinMs;
  for (let tries = 1; ; tries += 1) {
    const events = await readLog(session);
    for (const { received } of clients) while (received.length < events.length && Date.now() < until) await after(10);
    if (tries === READS || clients.every(({ received }) => received.length <= events.length)) return events;
  }
}

/** Whether a turn is open at the end of a log. */
export function hasOpenTurn(events: readonly UniversalEvent[]): boolean {
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  return count("turn.started") !== count("turn.ended");
}

/** Changes the log's file while nobody has it open, and looks at what is served then. */
export async function harm(
  remains: Remains,
  step: Last,
  logs: ReadonlyMap<string, readonly UniversalEvent[]>,
): Promise<Violation[]> {
  const { host, names } = remains;
  await host.stop("SIGTERM");
  const file = join(host.data, readdirSync(host.data).find((name) => name.endsWith(".db")) ?? "");
  if (step.type === "truncate") truncateSync(file, Math.floor((statSync(file).size * step.share) / 4096) * 4096);
  else changeOneByte(file, `s${step.session}`);
  try {
    await host.start();
  } catch {
    // Where nothing of the tables is left, a sentence says so.
    const stack = /^\s+at .*:\d+:\d+/m.exec(host.errors());
    if (step.type === "truncate" && stack === null && statSync(file).size < TABLES_BYTES) return [];
    return [{ promise: "damage", what: `the daemon did not start: ${host.errors().slice(-500)}` }];
  }
  const found: Violation[] = [];
  for (const name of names) {
    const read = await readLog(remains.client().session(name)).catch((error: unknown) => error);
    // A session whose record is gone is an error, and is named; what is wrong or missing in silence breaks a promise.
    if (!Array.isArray(read)) {
      if (step.type === "damage" || !isNamed(host.data))
        found.push({ promise: "damage", what: `${name} cannot be read: ${String(read)}` });
      continue;
    }
    found.push(...checkDamaged(name, read, storedOf(logs.get(name) ?? [])));
  }
  return found;
}

const isNamed = (data: string): boolean => salvagesIn(data).some(({ problems }) => problems.length > 0);

function changeOneByte(file: string, session: string): void {
  const database = openDatabase(file);
  try {
    const rows = database
      .prepare("SELECT g.position, g.body FROM groups g JOIN sessions s ON s.key = g.session WHERE s.id = ?")
      .all(session);
    const row = rows[Math.floor(rows.length / 2)];
    if (row === undefined) return;
    const body = Buffer.from(blob(row, "body"));
    const at = Math.floor(body.length / 2);
    body[at] = (body[at] ?? 0) ^ 1;
    database.prepare("UPDATE groups SET body = ? WHERE position = ?").run(body, integer(row, "position"));
  } finally {
    database.close();
  }
}

/** Everything is deleted and stopped: nothing may be left. */
export async function leave(remains: Remains, isWhole: boolean): Promise<Violation[]> {
  const { host, names, baseline } = remains;
  if (!host.isRunning()) return [];
  const found: Violation[] = [];
  // A background task that failed is tried again after some seconds.
  const until = Date.now() + GONE_MS;
  let health = await remains.client().health();
  while (health.status !== "ok" && Date.now() < until) {
    await after(100);
    health = await remains.client().health();
  }
  if (health.status !== "ok") found.push({ promise: "health", what: JSON.stringify(health) });
  for (let at = 0; isWhole && at < names.length; at += BATCH) {
    await Promise.all(names.slice(at, at + BATCH).map((name) => remains.client().session(name).delete()));
  }
  if (isWhole && !(await eventually(() => processesIn(host.folder).length <= 2))) {
    found.push({ promise: "processes", what: `left after delete: ${describe(processesIn(host.folder))}` });
  }
  if (isWhole && baseline !== null) {
    if (!(await eventually(() => (host.resources()?.files ?? 0) <= baseline.files + MORE_FILES))) {
      found.push({ promise: "open files", what: `${baseline.files} at the start, ${host.resources()?.files} now` });
    }
    const memory = host.resources()?.memory ?? 0;
    if (memory > baseline.memory + MORE_MEMORY) {
      found.push({ promise: "memory", what: `${baseline.memory} MiB at the start, ${memory} now` });
    }
  }
  const code = await host.stop("SIGTERM").catch((error: unknown) => String(error));
  if (code !== 0) found.push({ promise: "stop", what: `ended with ${code}: ${host.errors().slice(-500)}` });
  if (!(await eventually(() => processesIn(host.folder).length === 0))) {
    found.push({ promise: "processes", what: `left at the end: ${describe(processesIn(host.folder))}` });
  }
  return found;
}

/** Processes that work in a folder: the daemon and its guard in the world's own, agents below it. */
export function processesIn(folder: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const works = readlinkSync(`/proc/${name}/cwd`);
      return works === folder || works.startsWith(`${folder}/`) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** The agent of a session that works in a folder; sessions that share one find it in the folder of the first. */
export function agentsOf({ folder }: DaemonHost, directory: string): number[] {
  const own = processesIn(directory);
  return own.length > 0
    ? own
    : processesIn(folder).filter((pid) => describe([pid]).includes(" agent codex app-server"));
}

function describe(pids: readonly number[]): string {
  const commands = pids.map((pid) => {
    try {
      return `${pid} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 120)}`;
    } catch {
      return String(pid);
    }
  });
  return commands.join("; ");
}

export async function eventually(holds: () => boolean): Promise<boolean> {
  const until = Date.now() + GONE_MS;
  while (!holds()) {
    if (Date.now() > until) return false;
    await after(25);
  }
  return true;
}
