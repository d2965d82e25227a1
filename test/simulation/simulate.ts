/**
 * Simulates one plan: the real sessions, writer, turn machine, governor, recovery and readers, on a simulated machine
 * with a simulated log and simulated agents. The same plan gives the same life, always.
 */
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { mock } from "../../src/adapters/mock/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { SessionDetail } from "../../src/protocol/resources.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { openSessions } from "../../src/runtime/session/sessions.ts";
import { randomFrom } from "../faults/random.ts";
import { simulatedAgent } from "./agent.ts";
import { checkAll, type Logs, type Violation } from "./checks.ts";
import { bodyOf, openClient } from "./clients.ts";
import { openDisk, openSimulatedLog } from "./log.ts";
import { openObserver } from "./observer.ts";
import { type Plan, type Play, plays } from "./plan.ts";
import type { Simulation } from "./simulation.ts";
import { carryOut, createAll } from "./steps.ts";
import { openWorld, startLife } from "./world.ts";

/** So much may happen before a session that never comes to rest counts as hung. */
const MOST_EVENTS = 20_000;
const CLIENTS = 2;

export interface Simulated {
  readonly violations: readonly Violation[];
  /** The same for the same plan: of all that was seen. */
  readonly fingerprint: () => string;
  /** How often the daemon was started, and how many events there are. */
  readonly lives: number;
  readonly events: number;
  /** What can be read in the end. */
  readonly logs: Logs;
}

export async function simulate(plan: Plan): Promise<Simulated> {
  const world = openWorld(randomFrom(plan.seed * 7 + 1));
  const ids = plan.sessions.map((_, index) => sessionId(`s${index}`));
  const simulation: Simulation = {
    plan,
    world,
    disk: openDisk(),
    observer: openObserver(),
    ids,
    clients: ids.flatMap((session) =>
      Array.from({ length: CLIENTS }, (_, index) => openClient(world, { name: `${session}/${index}`, session })),
    ),
    agents: new Map(),
    connected: null,
    waiters: [],
    lives: 0,
    downMs: 0,
  };
  void start(simulation);
  void createAll(simulation).then(() => carryOut(simulation));
  return conclude(simulation);
}

/** Starts the daemon, on what the lives before it have stored. */
async function start(simulation: Simulation): Promise<void> {
  const { world, disk, plan, observer, clients, waiters } = simulation;
  simulation.lives += 1;
  const life = startLife({
    world,
    number: simulation.lives,
    onDeath() {
      simulation.connected = null;
      world.later(simulation.downMs, () => void start(simulation));
    },
  });
  const stubborn = new Set<string>(simulation.ids.filter((_, index) => plan.sessions[index]?.stubborn === true));
  const agent = simulatedAgent({
    world,
    life,
    playOf,
    isStubborn: (session) => stubborn.has(session),
    onHeard: (session, line) => void observer.heard.push({ session, line }),
    onStopped: (session, silentMs) => void observer.stopped.push({ session, silentMs }),
    running: simulation.agents,
  });
  const propose = async () => {
    await world.pause(world.random.integer(3_000));
    return world.random.chance(0.5) ? [{ plugin: "one", reason: "More.", prompt: "Go on." }] : [];
  };
  const sessions = await openSessions({
    adapters: [mock],
    inProcess: { mock: agent },
    logger: silentLogger,
    system: life.system,
    store: { kind: "memory", log: openSimulatedLog({ disk, life, world }) },
    toolsFolder: "/nonexistent",
    role: "daemon",
    version: "simulated",
    directory: tmpdir(),
    trustedFolders: ["/"],
    ...(plan.plugins ? { settle: propose } : {}),
  });
  if (!life.isAlive()) return;
  const connected = { life, sessions };
  simulation.connected = connected;
  for (const client of clients) client.connect(connected);
  for (const waiter of waiters.splice(0)) waiter(connected);
}

/** A prompt's second word says how it is played; the governor's own prompts are todos again. */
function playOf(text: string): Play {
  const word = text.split(" ")[1];
  return plays.find((play) => play === word) ?? "todos";
}

/** Faults are over: everything must come to rest, and be the same after one more start. */
async function conclude(simulation: Simulation): Promise<Simulated> {
  const { world, observer, clients } = simulation;
  const found: Violation[] = [];
  const broken = (promise: string, what: string): void => void found.push({ promise, what });
  if (!(await world.runOut(MOST_EVENTS))) broken("liveness", "it never comes to rest");
  if (observer.pending > 0) broken("liveness", `${observer.pending} calls were never answered`);
  simulation.connected?.life.spare();
  const before = await atRest(simulation);
  const closing = simulation.connected?.sessions.close();
  await world.runOut(MOST_EVENTS);
  await Promise.race([closing, Promise.resolve()]);
  void start(simulation);
  await world.runOut(MOST_EVENTS);
  const after = await atRest(simulation);
  if (before === null || after === null) broken("liveness", "the daemon did not start");
  const logs = new Map((after ?? []).map(({ id, events }) => [String(id), events]));
  for (const [index, { id, detail, events }] of (after ?? []).entries()) {
    if (detail.status !== "idle" || detail.queue.length > 0) {
      broken("liveness", `${id} is ${detail.status} with ${detail.queue.length} prompts in its queue`);
    }
    const earlier = before?.[index];
    for (const field of changed(earlier?.detail ?? {}, detail)) broken("replay", `${id} has another ${field}`);
    if (earlier?.events.map(bodyOf).join() !== events.map(bodyOf).join()) broken("replay", `${id} has other events`);
  }
  found.push(...checkAll({ observer, clients: clients.map(({ seen }) => seen), logs }));
  const seen = { logs: [...logs], observer, clients: clients.map(({ seen: one }) => one.entries) };
  return {
    violations: found,
    fingerprint: () => createHash("sha256").update(JSON.stringify(seen)).digest("hex"),
    lives: simulation.lives,
    events: [...logs.values()].reduce((sum, events) => sum + events.length, 0),
    logs,
  };
}

/** Each with what it was and what it is. */
const changed = (before: object, after: object): string[] => {
  const old = new Map<string, unknown>(Object.entries(before));
  return Object.entries(after).flatMap(([name, value]) => {
    const [was, is] = [JSON.stringify(old.get(name)), JSON.stringify(value)];
    return was === is ? [] : [`${name}: ${was}, then ${is}`];
  });
};

interface AtRest {
  readonly id: SessionId;
  readonly detail: SessionDetail;
  readonly events: readonly UniversalEvent[];
}

async function atRest({ connected, ids, world }: Simulation): Promise<readonly AtRest[] | null> {
  if (connected === null) return null;
  const reading = Promise.all(ids.map((id) => readOne(connected.sessions, id)));
  let read: readonly AtRest[] | null = null;
  void reading.then((all) => {
    read = all;
  });
  await world.runOut(MOST_EVENTS);
  return read;
}

async function readOne(sessions: Sessions, id: SessionId): Promise<AtRest> {
  const { events } = await sessions.events(id, { offset: 0, limit: 10_000, includeRaw: false });
  return { id, detail: await sessions.get(id), events };
}
