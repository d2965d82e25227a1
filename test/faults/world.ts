/** Carries out one plan against a real daemon and reports which promises it broke. */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { blob, integer } from "../../src/runtime/log/rows.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { type Client, connect, type Session } from "../../src/sdk/index.ts";
import { killIfAlive } from "../support/processes.ts";
import { promptFor } from "./agents/prompts.ts";
import { bodyOf, checkClient, checkDamaged, checkLog, checkPrompts, type Violation } from "./checks.ts";
import { type FaultClient, openClient, openSleeper } from "./client.ts";
import { type DaemonHost, type HostOptions, openHost, type Resources } from "./daemon.ts";
import type { Plan, Step } from "./plan.ts";

const SETTLE_MS = 60_000;
/** An agent that has said nothing for so long is stopped, so that the plan ends. */
const SILENCE_MS = 1_200;
const GONE_MS = 15_000;
const SLOW_COMMIT_MS = 30;
const RETRY_MS = 40;
const MORE_FILES = 12;
const MORE_MEMORY = 300;

interface World {
  readonly host: DaemonHost;
  readonly settleMs: number;
  readonly client: () => Client;
  readonly names: readonly string[];
  readonly clients: FaultClient[];
  readonly sending: Promise<void>[];
  readonly acknowledged: Map<string, string[]>;
  seen: number;
  sent: number;
  baseline: Resources | null;
}

export interface RunOptions extends HostOptions {
  /** How long prompts may take to be acknowledged and sessions to come to rest. */
  readonly settleMs?: number;
}

export async function runPlan(plan: Plan, { settleMs = SETTLE_MS, ...options }: RunOptions): Promise<Violation[]> {
  const host = openHost(options);
  try {
    await host.start();
    const names = plan.sessions.map((_, index) => `s${index}`);
    const world: World = {
      host,
      settleMs,
      client: () => connect({ url: host.url() }),
      names,
      clients: [],
      sending: [],
      acknowledged: new Map(names.map((name) => [name, []])),
      seen: 0,
      sent: 0,
      baseline: host.resources(),
    };
    return await carryOut(world, plan);
  } catch (error) {
    const said = host.errors().trim();
    throw new Error(said === "" ? String(error) : `${String(error)} The daemon wrote: ${said.slice(-2_000)}`, {
      cause: error,
    });
  } finally {
    if (host.isRunning()) await host.stop("SIGKILL").catch(() => null);
    for (const pid of processesIn(host.folder)) killIfAlive(pid);
    host.remove();
  }
}

async function carryOut(world: World, plan: Plan): Promise<Violation[]> {
  const { host, names } = world;
  for (const [index, agent] of plan.sessions.entries()) {
    const directory = join(host.folder, `work${index}`);
    mkdirSync(directory);
    await world.client().create({ id: `s${index}`, agent, directory });
  }
  const open = (name: string) =>
    openClient({
      url: host.url,
      path: `/v1/sessions/${name}/events/sse`,
      onEvent: () => {
        world.seen += 1;
      },
    });
  const byName = names.map((name) => ({ name, clients: Array.from({ length: plan.clients }, () => open(name)) }));
  world.clients.push(...byName.flatMap(({ clients }) => clients));
  const sleepers = names.map((name) => openSleeper(`${host.url()}/v1/sessions/${name}/events/sse`));
  try {
    const last = plan.steps.filter(isLast);
    for (const step of plan.steps) if (!isLast(step)) await perform(world, step);
    const found = await settle(world);
    const logs = new Map<string, readonly UniversalEvent[]>();
    for (const name of names) logs.set(name, await readLog(world.client().session(name)));
    for (const { name, clients } of byName) {
      const events = logs.get(name) ?? [];
      const stored = storedOf(events);
      found.push(...checkLog(name, events), ...checkPrompts(name, world.acknowledged.get(name) ?? [], events));
      for (const [index, client] of clients.entries()) {
        await caughtUp(client, events.length);
        found.push(...checkClient(`${name}, client ${index}`, client.received, stored));
      }
    }
    for (const step of last) found.push(...(await harm(world, step, logs)));
    found.push(...(await leave(world, last.length === 0)));
    return found;
  } finally {
    for (const { close } of [...world.clients, ...sleepers]) close();
  }
}

type Last = Extract<Step, { type: "damage" | "truncate" }>;
const isLast = (step: Step): step is Last => step.type === "damage" || step.type === "truncate";
const storedOf = (events: readonly UniversalEvent[]) => new Map(events.map((event) => [event.sequence, bodyOf(event)]));

async function perform(world: World, step: Exclude<Step, Last>): Promise<void> {
  const { host } = world;
  switch (step.type) {
    case "prompt":
      world.sent += 1;
      world.sending.push(send(world, `s${step.session}`, promptFor(step.play, step.size), `key-${world.sent}`));
      return;
    case "abort":
      return quietly(world.client().session(`s${step.session}`).abort());
    case "agent":
      for (const pid of processesIn(join(host.folder, `work${step.session}`))) killIfAlive(pid, step.signal);
      return;
    case "daemon":
      await host.stop(step.signal);
      return host.start();
    case "cut":
      for (const client of world.clients) client.cutAfter(step.afterBytes);
      return;
    case "disk":
      host.freeDisk();
      host.setFaults({ commitDelayMs: step.state === "slow" ? SLOW_COMMIT_MS : 0 });
      if (step.state === "full") host.fillDisk();
      return;
    case "clock":
      return host.setFaults({ clockOffsetMs: step.offsetMs });
    case "pass":
      return passed(world, step);
    default:
      return impossible(step);
  }
}

/** Sends a prompt until it is acknowledged; the key keeps it from running twice. */
async function send(world: World, name: string, text: string, idempotencyKey: string): Promise<void> {
  const until = Date.now() + world.settleMs;
  for (;;) {
    try {
      const prompt = await world.client().session(name).prompt(text, { idempotencyKey });
      world.acknowledged.get(name)?.push(prompt);
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await after(RETRY_MS);
    }
  }
}

async function passed(world: World, { events, atMostMs }: Extract<Step, { type: "pass" }>): Promise<void> {
  const wanted = world.seen + events;
  const until = Date.now() + atMostMs;
  while (world.seen < wanted && Date.now() < until) await after(5);
}

/** The faults are over: every prompt is acknowledged and every session comes to rest. */
async function settle(world: World): Promise<Violation[]> {
  const { host, names } = world;
  host.freeDisk();
  host.setFaults({ commitDelayMs: 0 });
  if (!host.isRunning()) await host.start();
  await Promise.all(world.sending);
  const until = Date.now() + world.settleMs;
  let quietSince = Date.now();
  let seen = -1;
  for (;;) {
    const details = await Promise.all(names.map((name) => world.client().session(name).get({ limit: 0 })));
    const busy = details.filter(({ status, queue }) => status !== "idle" || queue.length > 0);
    if (busy.length === 0) return [];
    if (Date.now() > until) {
      return busy.map(({ sessionId, status }) => ({ promise: "hung", what: `${sessionId} is ${status}` }));
    }
    const now = details.reduce((sum, { lastSequence }) => sum + lastSequence, 0);
    if (now !== seen) quietSince = Date.now();
    seen = now;
    if (Date.now() - quietSince > SILENCE_MS) {
      quietSince = Date.now();
      for (const { sessionId } of busy) await quietly(world.client().session(sessionId).abort());
    }
    await after(25);
  }
}

async function readLog(session: Session): Promise<readonly UniversalEvent[]> {
  const all: UniversalEvent[] = [];
  for (;;) {
    const { events, hasMore } = await session.listEvents({ offset: all.at(-1)?.sequence ?? 0, limit: 1_000 });
    all.push(...events);
    if (!hasMore) return all;
  }
}

async function caughtUp(client: FaultClient, count: number): Promise<void> {
  const until = Date.now() + GONE_MS;
  while (client.received.length < count && Date.now() < until) await after(10);
}

/** Changes the log's file while nobody has it open, and looks at what is served then. */
async function harm(
  world: World,
  step: Last,
  logs: ReadonlyMap<string, readonly UniversalEvent[]>,
): Promise<Violation[]> {
  const { host, names } = world;
  await host.stop("SIGTERM");
  const file = join(host.data, readdirSync(host.data).find((name) => name.endsWith(".db")) ?? "");
  if (step.type === "truncate") truncateSync(file, Math.floor((statSync(file).size * step.share) / 4096) * 4096);
  else changeOneByte(file, `s${step.session}`);
  try {
    await host.start();
  } catch {
    // A file that is no database any more is refused, in a sentence.
    const stack = /^\s+at .*:\d+:\d+/m.exec(host.errors());
    if (step.type === "truncate" && stack === null) return [];
    return [{ promise: "damage", what: `the daemon did not start: ${host.errors().slice(-500)}` }];
  }
  const found: Violation[] = [];
  for (const name of names) {
    const read = await readLog(world.client().session(name)).catch((error: unknown) => error);
    // A session whose rows are gone is an error; only what is wrong or missing in silence breaks a promise.
    if (!Array.isArray(read)) {
      if (step.type === "damage") found.push({ promise: "damage", what: `${name} cannot be read: ${String(read)}` });
      continue;
    }
    found.push(...checkDamaged(name, read, storedOf(logs.get(name) ?? [])));
  }
  return found;
}

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
async function leave(world: World, isWhole: boolean): Promise<Violation[]> {
  const { host, names } = world;
  if (!host.isRunning()) return [];
  const found: Violation[] = [];
  const health = await world.client().health();
  if (health.status !== "ok") found.push({ promise: "health", what: JSON.stringify(health) });
  for (const client of world.clients) client.close();
  if (isWhole) for (const name of names) await world.client().session(name).delete();
  if (isWhole && !(await eventually(() => processesIn(host.folder).length <= 2))) {
    found.push({ promise: "processes", what: `left after delete: ${describe(processesIn(host.folder))}` });
  }
  const { baseline } = world;
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
function processesIn(folder: string): number[] {
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

async function eventually(holds: () => boolean): Promise<boolean> {
  const until = Date.now() + GONE_MS;
  while (!holds()) {
    if (Date.now() > until) return false;
    await after(25);
  }
  return true;
}

/** A request that a fault may break: what matters is what is there afterwards. */
async function quietly(request: Promise<unknown>): Promise<void> {
  await request.catch(() => {});
}

function impossible(step: never): never {
  throw new Error(`No such step: ${JSON.stringify(step)}`);
}
