/**
 * One place of a soak: a session that is created, prompted, disturbed, compared with what its clients saw, deleted, and
 * followed by the next one, for as long as the soak lasts.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { ApiError, type Client, connect, type Session } from "../../src/sdk/index.ts";
import { killIfAlive } from "../support/processes.ts";
import { agentsOf, hasOpenTurn, readWithClients, storedOf } from "./aftermath.ts";
import { promptFor } from "./agents/prompts.ts";
import { checkClient, checkLog, checkPrompts, type Violation } from "./checks.ts";
import { type FaultClient, openClient, openSleeper } from "./client.ts";
import type { DaemonHost } from "./daemon.ts";
import { addFigures, type Figures } from "./figures.ts";
import { agents, plays } from "./plan.ts";
import { type Random, randomFrom } from "./random.ts";

/** An agent that has said nothing for so long is stopped. */
const SILENCE_MS = 4_000;
/** A turn, a request or a client has to come to its end within this. */
const PATIENCE_MS = 120_000;
const RETRY_MS = 100;
const POLL_MS = 50;
/** How often a session may begin a turn by itself, at most. */
const SETTLES = 5;
const MAX_PAUSE_MS = 4_000;

export interface Soak {
  readonly host: DaemonHost;
  readonly seed: number;
  readonly figures: Figures;
  readonly broken: (...found: readonly Violation[]) => void;
  readonly isOver: () => boolean;
}

export interface Place {
  /** How many events the session of the moment has. */
  readonly events: () => number;
  /** Resolves when the soak is over and the last session is deleted. */
  readonly done: Promise<void>;
}

interface Life {
  readonly soak: Soak;
  readonly random: Random;
  readonly name: string;
  readonly agent: string;
  readonly directory: string;
  readonly clients: readonly FaultClient[];
  readonly acknowledged: string[];
  readonly session: () => Session;
}

export function openPlace(soak: Soak, index: number): Place {
  const random = randomFrom(soak.seed * 1_000 + index);
  let events = () => 0;
  const live = async (): Promise<void> => {
    for (let count = 0; !soak.isOver(); count += 1) {
      const life = await begin(soak, { random, name: `s${index}-${count}`, place: index });
      events = () => life.clients[0]?.received.length ?? 0;
      await spend(life).catch((error: unknown) => {
        soak.broken({ promise: "hung", what: `${life.name}, ${life.agent}: ${String(error)}` });
      });
    }
    events = () => 0;
  };
  return { events: () => events(), done: live() };
}

interface Birth {
  readonly random: Random;
  readonly name: string;
  readonly place: number;
}

async function begin(soak: Soak, { random, name, place }: Birth): Promise<Life> {
  const { host } = soak;
  const client = (): Client => connect({ url: host.url() });
  const directory = join(host.folder, `work${place}`);
  mkdirSync(directory, { recursive: true });
  const agent = random.pick(agents);
  await persistently(() => client().create({ id: name, agent, directory }), { done: "session_already_exists" });
  const path = `/v1/sessions/${name}/events/sse`;
  const clients = Array.from({ length: random.between(1, 3) }, () =>
    openClient({ url: host.url, path, retryMs: RETRY_MS, onEvent() {} }),
  );
  addFigures(soak.figures, { sessions: 1, clients: clients.length });
  return { soak, random, name, agent, directory, clients, acknowledged: [], session: () => client().session(name) };
}

/** Its turns, the comparison, and its end. */
async function spend(life: Life): Promise<void> {
  const { soak, random, name, clients } = life;
  const sleeper = random.chance(0.2) ? openSleeper(`${soak.host.url()}/v1/sessions/${name}/events/sse`) : null;
  try {
    for (let turns = random.between(3, 8); turns > 0 && !soak.isOver(); turns -= 1) {
      for (let prompts = random.chance(0.2) ? 2 : 1; prompts > 0; prompts -= 1) await prompt(life);
      disturb(life);
      await untilIdle(life);
      await after(random.between(0, MAX_PAUSE_MS));
    }
    await compare(life);
  } finally {
    for (const { close } of clients) close();
    sleeper?.close();
    await persistently(() => life.session().delete(), { done: "session_not_found" });
    rmSync(life.directory, { recursive: true, force: true });
  }
}

async function prompt({ soak, random, name, acknowledged, session }: Life): Promise<void> {
  const play = random.chance(0.6) ? random.pick(["say", "flood", "pauses"] as const) : random.pick(plays);
  const size = random.chance(0.05) ? random.between(1_000, 4_000) : random.between(1, 200);
  const idempotencyKey = `${name}-${acknowledged.length}`;
  const id = await persistently(() => session().prompt(promptFor(play, size), { idempotencyKey }), {});
  if (id !== null) acknowledged.push(id);
  addFigures(soak.figures, { prompts: 1 });
}

function disturb({ soak, random, directory, clients, session }: Life): void {
  const kind = random.integer(100);
  if (kind < 30) for (const client of clients) client.cutAfter(random.integer(20_000));
  else if (kind < 36)
    void session()
      .abort()
      .catch(() => {});
  else if (kind < 44) {
    const signal = random.pick(["SIGKILL", "SIGKILL", "SIGSTOP"] as const);
    for (const pid of agentsOf(soak.host, directory)) {
      killIfAlive(pid, signal);
      addFigures(soak.figures, signal === "SIGKILL" ? { agentsKilled: 1 } : { agentsStopped: 1 });
    }
  }
}

/** Until every prompt has begun a turn and no turn is open, as the first client sees it. */
async function untilIdle({ clients, acknowledged, session }: Life): Promise<void> {
  const [client] = clients;
  if (client === undefined) return;
  // Counted in looks, not by the clock: a machine that stands still is no hanging turn.
  let waitedMs = 0;
  let heard = Date.now();
  let read = 0;
  const open = new Set<string>();
  const begun = new Set<string | undefined>();
  for (;;) {
    if (client.received.length > read) heard = Date.now();
    for (const { data } of client.received.slice(read)) {
      read += 1;
      if (!data.includes('"type":"turn.')) continue;
      const event: UniversalEvent = JSON.parse(data);
      if (event.type === "turn.started") open.add(event.data.turn_id);
      if (event.type === "turn.started") begun.add(event.data.prompt_id);
      if (event.type === "turn.ended") open.delete(event.data.turn_id);
    }
    if (open.size === 0 && acknowledged.every((id) => begun.has(id))) return;
    waitedMs += POLL_MS;
    if (waitedMs > PATIENCE_MS) {
      const { status, queue, lastSequence } = await session().get({ limit: 0 });
      const there = `${status}, ${queue.length} in its queue, ${read} of ${lastSequence} events seen`;
      throw new Error(`A turn has not ended within ${PATIENCE_MS} ms: the session is ${there}.`);
    }
    if (Date.now() - heard > SILENCE_MS) {
      heard = Date.now();
      await session()
        .abort()
        .catch(() => {});
    }
    await after(POLL_MS);
  }
}

async function compare(life: Life): Promise<void> {
  const { soak, name, clients, acknowledged, session } = life;
  const read = async () => (await persistently(() => readWithClients(session(), clients, PATIENCE_MS), {})) ?? [];
  let events = await read();
  // An agent may have begun a turn by itself after the last one.
  for (let tries = 1; tries < SETTLES && hasOpenTurn(events); tries += 1) {
    await untilIdle(life);
    events = await read();
  }
  const stored = storedOf(events);
  for (const [index, { received, cuts }] of clients.entries()) {
    soak.broken(...checkClient(`${name}, client ${index}`, received, stored));
    addFigures(soak.figures, { received: received.length, cuts: cuts() });
  }
  soak.broken(...checkLog(name, events), ...checkPrompts(name, acknowledged, events));
  addFigures(soak.figures, { events: events.length });
}

/** Until it is done or the daemon says that it was: a fault may come between a request and its answer. */
async function persistently<Result>(
  request: () => Promise<Result>,
  { done }: { readonly done?: string },
): Promise<Result | null> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (error instanceof ApiError && error.code === done) return null;
      if (Date.now() > until) throw error;
      await after(RETRY_MS);
    }
  }
}
