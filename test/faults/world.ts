/** Carries out one plan against a real daemon and reports which promises it broke. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { type Client, connect } from "../../src/sdk/index.ts";
import { killIfAlive } from "../support/processes.ts";
import {
  agentsOf,
  harm,
  hasOpenTurn,
  isLast,
  type Last,
  leave,
  processesIn,
  readLog,
  readWithClients,
  SILENCE_MS,
  storedOf,
} from "./aftermath.ts";
import { promptFor } from "./agents/prompts.ts";
import { checkClient, checkLog, checkPrompts, type Violation } from "./checks.ts";
import { type FaultClient, openClient, openSleeper } from "./client.ts";
import { checkWatchdog } from "./clock-jumps.ts";
import { type DaemonHost, type HostOptions, openHost, type Resources } from "./daemon.ts";
import { addFigures, type Figures, noFigures } from "./figures.ts";
import type { Plan, Step } from "./plan.ts";
import { openReceivers, type Receivers } from "./receivers.ts";
import { compareRendered } from "./rendered.ts";
import type { StoredSessions } from "./stored.ts";

const SETTLE_MS = 60_000;
const SLOW_COMMIT_MS = 30;
const RETRY_MS = 40;
/** Sessions of a plan that have a client which never reads, and one that reads in another language. */
const WATCHED = 3;
/** How often a session may begin a turn by itself, at most. */
const SETTLES = 5;
/** How many sessions are made or asked about at once. */
const BATCH = 20;

type DiskState = Extract<Step, { type: "disk" }>["state"];

interface World {
  readonly host: DaemonHost;
  readonly settleMs: number;
  readonly client: () => Client;
  readonly names: readonly string[];
  readonly clients: FaultClient[];
  readonly sending: Promise<void>[];
  readonly acknowledged: Map<string, string[]>;
  readonly baseline: Resources | null;
  readonly figures: Figures;
  /** What broke a promise on the way. */
  readonly found: Violation[];
  /** Null in a plan without them. */
  readonly receivers: Receivers | null;
  disk: DiskState;
  seen: number;
  sent: number;
}

export interface RunOptions extends Omit<HostOptions, "dataFrom"> {
  /** How long prompts may take to be acknowledged and sessions to come to rest. */
  readonly settleMs?: number;
  /** The data folder of plans with many sessions on the disk. */
  readonly stored: () => Promise<StoredSessions>;
}

export interface Outcome {
  readonly found: readonly Violation[];
  readonly figures: Figures;
}

export async function runPlan(plan: Plan, options: RunOptions): Promise<Outcome> {
  const { settleMs = SETTLE_MS, stored: openStored, ...hostOptions } = options;
  const stored = plan.scale === "stored" ? await openStored() : null;
  const receivers = plan.steps.some(({ type }) => type === "receivers") ? await openReceivers() : null;
  const config = receivers?.config ?? {};
  const host = openHost({ ...hostOptions, config, ...(stored === null ? {} : { dataFrom: stored.folder }) });
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
      baseline: host.resources(),
      figures: noFigures(),
      found: [],
      receivers,
      disk: "well",
      seen: 0,
      sent: 0,
    };
    await carryOut(world, plan, stored);
    return world;
  } catch (error) {
    const said = host.errors().trim();
    throw new Error(said === "" ? String(error) : `${String(error)} The daemon wrote: ${said.slice(-2_000)}`, {
      cause: error,
    });
  } finally {
    if (host.isRunning()) await host.stop("SIGKILL").catch(() => null);
    for (const pid of processesIn(host.folder)) killIfAlive(pid);
    host.remove();
    receivers?.close();
  }
}

async function carryOut(world: World, plan: Plan, stored: StoredSessions | null): Promise<void> {
  const { host, names, found, figures } = world;
  await inBatches([...plan.sessions.entries()], async ([index, agent]) => {
    const directory = join(host.folder, `work${index}`);
    mkdirSync(directory);
    await world.client().create({ id: `s${index}`, agent, directory });
  });
  const followed = openClients(world, plan);
  const sleepers = names.slice(0, WATCHED).map((name) => openSleeper(`${host.url()}${pathOf(name)}`));
  try {
    const last = plan.steps.filter(isLast);
    for (const step of plan.steps) if (!isLast(step)) await perform(world, step);
    found.push(...(await settle(world)));
    const logs = new Map<string, readonly UniversalEvent[]>();
    for (const one of followed) logs.set(one.name, await compare(world, one));
    addFigures(figures, { events: [...logs.values()].reduce((sum, { length }) => sum + length, 0) });
    if (world.receivers !== null) found.push(...(await world.receivers.check(logs.values())));
    if (stored !== null) found.push(...(await stored.check(world.client())));
    for (const step of last) found.push(...(await harm(world, step, logs)));
  } finally {
    for (const { close } of [...world.clients, ...sleepers]) close();
  }
  found.push(...(await leave(world, !plan.steps.some(isLast))));
  addFigures(figures, {
    plans: 1,
    sessions: names.length,
    clients: world.clients.length,
    prompts: [...world.acknowledged.values()].reduce((sum, { length }) => sum + length, 0),
    cuts: world.clients.reduce((sum, { cuts }) => sum + cuts(), 0),
    received: world.clients.reduce((sum, { received }) => sum + received.length, 0),
  });
}

/** A session and its clients. */
interface Followed {
  readonly name: string;
  readonly clients: readonly FaultClient[];
  /** Reads it in OpenCode's language. */
  readonly rendered: FaultClient | null;
}

const pathOf = (name: string): string => `/v1/sessions/${name}/events/sse`;

const openOne = (world: World, path: string): FaultClient =>
  openClient({
    url: world.host.url,
    path,
    onEvent: () => {
      world.seen += 1;
    },
  });

function openClients(world: World, plan: Plan): readonly Followed[] {
  const followed = world.names.map((name, index) => ({
    name,
    clients: Array.from({ length: plan.clients }, () => openOne(world, pathOf(name))),
    rendered: index < WATCHED ? openOne(world, `${pathOf(name)}?format=opencode`) : null,
  }));
  for (const { clients, rendered } of followed)
    world.clients.push(...clients, ...(rendered === null ? [] : [rendered]));
  return followed;
}

async function compare(world: World, { name, clients, rendered }: Followed): Promise<readonly UniversalEvent[]> {
  const { found, acknowledged } = world;
  const events = await readSettled(world, { name, clients });
  const log = storedOf(events);
  for (const [index, { received }] of clients.entries()) {
    found.push(...checkClient(`${name}, client ${index}`, received, log));
  }
  found.push(
    ...checkLog(name, events),
    ...checkWatchdog(name, events),
    ...checkPrompts(name, acknowledged.get(name) ?? [], events),
  );
  if (rendered !== null) {
    const whole = openOne(world, rendered.path);
    found.push(...(await compareRendered(world.client().session(name), { cut: rendered, whole })));
  }
  return events;
}

/**
 * The log of a session at rest. A turn may have begun by itself after all were idle: an agent that says twice that it
 * is done has its second end taken for that of the next prompt, whose answer is then a turn without a prompt.
 */
async function readSettled(
  world: World,
  { name, clients }: Pick<Followed, "name" | "clients">,
): Promise<readonly UniversalEvent[]> {
  for (let tries = 1; ; tries += 1) {
    const events = await readWithClients(world.client().session(name), clients);
    if (tries === SETTLES || !hasOpenTurn(events)) return events;
    world.found.push(...(await settle(world)));
  }
}

async function perform(world: World, step: Exclude<Step, Last>): Promise<void> {
  const { host, figures } = world;
  switch (step.type) {
    case "prompt":
      return prompt(world, `s${step.session}`, step);
    case "everybody":
      for (const name of world.names) prompt(world, name, step);
      return;
    case "abort":
      return quietly(world.client().session(`s${step.session}`).abort());
    case "agent":
      for (const pid of agentsOf(host, join(host.folder, `work${step.session}`))) {
        killIfAlive(pid, step.signal);
        addFigures(figures, step.signal === "SIGKILL" ? { agentsKilled: 1 } : { agentsStopped: 1 });
      }
      return;
    case "daemon":
      addFigures(figures, step.signal === "SIGKILL" ? { daemonsKilled: 1 } : { daemonsStopped: 1 });
      await host.stop(step.signal, step);
      return startAgain(world);
    case "cut":
      // Each at a place of its own.
      for (const [index, client] of world.clients.entries()) client.cutAfter(step.afterBytes + index * 37);
      return;
    case "disk":
      return setDisk(world, step.state);
    case "clock":
      return host.setFaults({ clockOffsetMs: step.offsetMs });
    case "jumps":
      prompt(world, `s${step.session}`, { play: "pauses", size: step.size });
      for (const clockOffsetMs of step.offsetsMs) {
        await passed(world, { events: 1, atMostMs: 100 });
        host.setFaults({ clockOffsetMs });
      }
      return;
    case "receivers":
      return world.receivers?.setHanging(step.state === "hang");
    case "pass":
      return passed(world, step);
    default:
      return impossible(step);
  }
}

function prompt(
  world: World,
  name: string,
  { play, size }: Pick<Extract<Step, { type: "prompt" }>, "play" | "size">,
): void {
  world.sent += 1;
  const sending = send(world, name, { text: promptFor(play, size), idempotencyKey: `key-${world.sent}` });
  // Waited for at the end; a plan that broke before does not wait.
  sending.catch(() => {});
  world.sending.push(sending);
}

function setDisk(world: World, state: DiskState): void {
  const { host } = world;
  world.disk = state;
  host.freeDisk();
  host.setFaults({ commitDelayMs: state === "slow" ? SLOW_COMMIT_MS : 0, readOnly: state === "read-only" });
  if (state === "full") host.fillDisk();
}

/**
 * On a disk that is full or can only be read, a daemon starts and serves what is there, or refuses to start in a
 * sentence. It goes on when the disk can be written.
 */
async function startAgain(world: World): Promise<void> {
  const { host, found, disk } = world;
  if (disk !== "read-only" && disk !== "full") return host.start();
  if (disk === "read-only") {
    const isMounted = host.setMountWritable(false);
    // Where nothing can be mounted, SQLite alone refuses.
    host.setFaults({ readOnly: !isMounted });
  }
  try {
    await host.start();
    if (disk === "full") await readAll(world);
  } catch (error) {
    const stack = /^\s+at .*:\d+:\d+/m.exec(host.errors());
    const reason = disk === "full" ? /no room left/i : /writ|read-?only/i;
    if (host.isRunning() || stack !== null || !reason.test(String(error)))
      found.push({ promise: "health", what: `on a disk that is ${disk}: ${String(error)}` });
  }
  if (disk === "read-only") host.setMountWritable(true);
  // A daemon that runs on a full disk goes on with it.
  if (disk === "read-only" || !host.isRunning()) setDisk(world, "well");
  if (!host.isRunning()) await host.start();
}

async function readAll({ names, client }: World): Promise<void> {
  await inBatches(names, (name) => readLog(client().session(name)));
}

/** Sends a prompt until it is acknowledged; the key keeps it from running twice. */
async function send(
  world: World,
  name: string,
  { text, idempotencyKey }: { readonly text: string; readonly idempotencyKey: string },
): Promise<void> {
  const until = Date.now() + world.settleMs;
  for (;;) {
    try {
      const acknowledged = await world.client().session(name).prompt(text, { idempotencyKey });
      world.acknowledged.get(name)?.push(acknowledged);
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await after(RETRY_MS);
    }
  }
}

async function passed(
  world: World,
  { events, atMostMs }: Omit<Extract<Step, { type: "pass" }>, "type">,
): Promise<void> {
  const wanted = world.seen + events;
  const until = Date.now() + atMostMs;
  while (world.seen < wanted && Date.now() < until) await after(5);
}

/** The faults are over: every prompt is acknowledged and every session comes to rest. */
async function settle(world: World): Promise<Violation[]> {
  const { host, names } = world;
  setDisk(world, "well");
  world.receivers?.setHanging(false);
  if (!host.isRunning()) await host.start();
  await Promise.all(world.sending);
  const until = Date.now() + world.settleMs;
  let quietSince = Date.now();
  let seen = -1;
  for (;;) {
    const details = await inBatches(names, (name) => world.client().session(name).get({ limit: 0 }));
    const busy = details.filter(({ status, queue }) => status !== "idle" || queue.length > 0);
    // One that was acknowledged while the log could not be written begins when the session has tried again.
    if (busy.length === 0 && ((await haveBegun(world)) || Date.now() > until)) return [];
    if (Date.now() > until) {
      return busy.map(({ sessionId, status }) => ({ promise: "hung", what: `${sessionId} is ${status}` }));
    }
    const now = details.reduce((sum, { lastSequence }) => sum + lastSequence, 0);
    if (now !== seen) quietSince = Date.now();
    seen = now;
    if (Date.now() - quietSince > SILENCE_MS) {
      quietSince = Date.now();
      await inBatches(busy, ({ sessionId }) => quietly(world.client().session(sessionId).abort()));
    }
    await after(25 + names.length);
  }
}

/** Whether all prompts have; one that never does is found when its log is checked. */
async function haveBegun({ names, client, acknowledged }: World): Promise<boolean> {
  const checked = await inBatches(names, async (name) => {
    const prompts = acknowledged.get(name) ?? [];
    return prompts.length === 0 || checkPrompts(name, prompts, await readLog(client().session(name))).length === 0;
  });
  return checked.every((begun) => begun);
}

/** So many at a time, in order. */
async function inBatches<One, Result>(all: readonly One[], work: (one: One) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < all.length; at += BATCH) {
    results.push(...(await Promise.all(all.slice(at, at + BATCH).map(work))));
  }
  return results;
}

/** A request that a fault may break: what matters is what is there afterwards. */
async function quietly(request: Promise<unknown>): Promise<void> {
  await request.catch(() => {});
}

function impossible(step: never): never {
  throw new Error(`No such step: ${JSON.stringify(step)}`);
}
