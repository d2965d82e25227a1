/**
 * Three hosts as processes of their own, rounds of faults in the middle of turns: a host is killed, stopped beyond its
 * lease or cut off from the database, its connections end at random bytes, or the database crashes, is away or takes no
 * connections for longer than every timeout. Clients read
 * from one host after the other and send every command to whichever host is next. Counted and printed.
 */
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { processTable } from "../../src/runtime/agent/process-table.ts";
import { connect, type Session } from "../../src/sdk/index.ts";
import { temporaryFolder } from "../support/folders.ts";
import {
  administer,
  databaseOf,
  restartServer,
  serverPort,
  startServer,
  stopServer,
  urlOf,
} from "../support/postgres.ts";
import { type Host, homeOf, killHost, startHost, TOKEN } from "../support/postgres-hosts.ts";
import { openProxy, type ServerProxy } from "../support/postgres-proxy.ts";
import { eventually } from "../support/processes.ts";
import { installStubbornAmp, stubbornPids } from "../support/stubborn-agent.ts";

const ROUNDS = Number(process.env.FRANCA_TEST_ROUNDS ?? "0");
/** Takeover takes a lease and a look; the rest is for a busy machine. */
const ROUND_MS = 90_000;
const LEASE_MS = 1_500;
const args = ["--lease-ms", String(LEASE_MS), "--take-over"];
const PAUSE_MS = 50;
/** Longer than a lease, a connection and a read are waited for. */
const AWAY_MS = 15_000;
const FAULTS = ["kill", "stop", "crash of the database", "partition", "cuts", "away", "no connections"] as const;
type Fault = (typeof FAULTS)[number];
/** After these the host's agents must be gone. */
const FENCING: ReadonlySet<Fault> = new Set(["kill", "stop", "partition"]);
const FLOODS = ["one", "two", "three"];
const ASKER = "four";

const pause = (ms = PAUSE_MS): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Place {
  readonly home: string;
  readonly proxy: ServerProxy;
  readonly database: string;
  readonly env: Readonly<Record<string, string>>;
  host: Host;
}

interface Reader {
  readonly session: string;
  readonly events: UniversalEvent[];
  /** Ends of turns by the id of their prompt. */
  readonly ends: Map<string, string>;
  connections: number;
}

/** Reads from another host each time the stream is cut, and by itself after some events. */
function read(session: string, urls: readonly string[], signal: AbortSignal): Reader {
  const reader: Reader = { session, events: [], ends: new Map(), connections: 0 };
  const prompts = new Map<string, string>();
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const url = urls[reader.connections % urls.length] ?? "";
      reader.connections += 1;
      const after = reader.events.at(-1)?.sequence ?? 0;
      let here = 0;
      try {
        const leaving = AbortSignal.any([signal, AbortSignal.timeout(LEASE_MS * 2)]);
        for await (const event of connect({ url, token: TOKEN }).session(session).events({ after, signal: leaving })) {
          reader.events.push(event);
          if (event.type === "turn.started") prompts.set(event.data.turn_id, event.data.prompt_id ?? "");
          if (event.type === "turn.ended") {
            reader.ends.set(prompts.get(event.data.turn_id) ?? "", `${event.data.reason} ${event.data.evidence}`);
          }
          here += 1;
          if (here === 200) break;
        }
      } catch {
        await pause();
      }
    }
  };
  void follow();
  return reader;
}

interface Clients {
  readonly urls: readonly string[];
  readonly output: () => string;
  commands: number;
}

/** Asks one host after the other until one of them does it. */
async function command<T>(
  clients: Clients,
  what: string,
  work: (on: (id: string) => Session) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + ROUND_MS;
  for (;;) {
    clients.commands += 1;
    const url = clients.urls[clients.commands % clients.urls.length] ?? "";
    // A host that is stopped answers nothing at all.
    const late = pause(LEASE_MS * 2).then(() => Promise.reject(new Error("no answer in time")));
    late.catch(() => {});
    try {
      return await Promise.race([work((id) => connect({ url, token: TOKEN }).session(id)), late]);
    } catch (error) {
      if (performance.now() > deadline) {
        throw new Error(`No host does this: ${what}. ${clients.output()}`, { cause: error });
      }
      await pause();
    }
  }
}

/** Answers whatever a session asks, through whichever host, until its prompt has an end. */
async function answerAll(clients: Clients, { session, ends }: Reader, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await command(clients, "answer", async (on) => {
      for (const { permission_id } of (await on(session).get({ limit: 0 })).pendingPermissions) {
        await on(session).replyPermission(permission_id, "once");
      }
    }).catch((error: unknown) => {
      if (!isOver()) throw error;
    });
    await pause(ends.size === 0 ? PAUSE_MS : PAUSE_MS * 2);
  }
}

/** None has ended but those that were killed. */
function expectAlive(places: readonly Place[]): void {
  const ended = places.filter(({ host }) => host.child.exitCode !== null || host.child.signalCode !== null);
  expect(ended.map(({ host }) => host.output().slice(-4_000))).toEqual([]);
}

async function disturb(place: Place, fault: Fault): Promise<void> {
  const { host, proxy, home, database, env } = place;
  switch (fault) {
    case "kill":
      await killHost(host);
      await pause(LEASE_MS);
      place.host = await startHost(database, { home, args, env, port: new URL(host.url).port });
      return;
    case "stop":
      host.child.kill("SIGSTOP");
      await pause(LEASE_MS * 2);
      host.child.kill("SIGCONT");
      return;
    case "partition":
      proxy.open(false);
      await pause(LEASE_MS * 2);
      proxy.open(true);
      return;
    case "cuts":
      proxy.cut(() => Math.floor(random() * 20_000));
      await pause(LEASE_MS);
      proxy.cut(null);
      return;
    case "crash of the database":
      restartServer();
      return;
    case "away":
      stopServer();
      await pause(AWAY_MS);
      startServer();
      return;
    case "no connections":
      await allowConnections(place, false);
      await pause(AWAY_MS);
      await allowConnections(place, true);
  }
}

/** Without them, those that are open end too. */
async function allowConnections({ database }: Place, isAllowed: boolean): Promise<void> {
  const name = new URL(database).pathname.slice(1);
  await administer("postgres", `ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`);
  if (isAllowed) return;
  await administer("postgres", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
}

/** By a seed, so that a run can be repeated. */
let seed = Number(process.env.FRANCA_TEST_SEED ?? Date.now() % 2 ** 31);
const firstSeed = seed;
function random(): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
}

const isAlive = (pid: number): boolean => processTable.startOf(pid) !== null;

/** A session whose agent is a process that ignores signals; resolves with its processes. */
async function startStubborn({ host }: Place, id: string): Promise<readonly number[]> {
  const session = await host.client.create({ id, agent: "amp", directory: host.home });
  for await (const event of session.ask("work")) {
    const pids = stubbornPids(JSON.stringify(event)) ?? [];
    if (pids.length > 0) return pids;
  }
  throw new Error("The agent did not start.");
}

async function startPlaces(): Promise<readonly Place[]> {
  const name = await databaseOf(temporaryFolder());
  const places: Place[] = [];
  for (const id of ["a", "b", "c"]) {
    const proxy = await openProxy(serverPort());
    onTestFinished(() => proxy.close());
    const home = homeOf(id);
    const env = installStubbornAmp(home);
    const database = urlOf(name, { port: proxy.port });
    places.push({ home, proxy, database, env, host: await startHost(database, { home, args, env }) });
  }
  return places;
}

/** The end of what each host printed. */
const shown = (places: readonly Place[]): string =>
  places.map(({ host: { child, output } }) => `${child.exitCode} ${output().slice(-2_000)}`).join("\n--\n");

interface Running {
  readonly places: readonly Place[];
  readonly clients: Clients;
  readonly readers: readonly Reader[];
  /** Ids of acknowledged prompts by session, in order. */
  readonly prompts: ReadonlyMap<string, string[]>;
  readonly faults: Fault[];
  agents: number;
}

async function playRound(running: Running, round: number): Promise<void> {
  const { places, clients, readers, prompts, faults } = running;
  const fault = FAULTS[round % FAULTS.length] ?? "kill";
  const place = places[Math.floor(random() * places.length)];
  if (place === undefined) throw new Error("There is a host.");
  const pids = FENCING.has(fault) ? await startStubborn(place, `amp-${round}`) : [];
  running.agents += pids.length;
  const send = async (session: string, text: string): Promise<void> => {
    const options = { idempotencyKey: `round ${round}` };
    const id = await command(clients, `prompt ${session}`, (on) => on(session).prompt(text, options));
    prompts.get(session)?.push(id);
  };
  const sent = [...FLOODS.map((session) => send(session, "flood 3000")), send(ASKER, "permission")];
  await Promise.race(sent);
  const named = command(clients, "update", (on) => on(ASKER).update({ title: `round ${round}` }));
  const disturbed = disturb(place, fault);
  if (pids.length > 0) await eventually(() => !pids.some(isAlive), { withinMs: ROUND_MS });
  await disturbed;
  faults.push(fault);
  await Promise.all([...sent, named]);
  const deadline = performance.now() + ROUND_MS;
  const isOver = ({ session, ends }: Reader): boolean => (prompts.get(session) ?? []).every((id) => ends.has(id));
  await Promise.all(
    readers.map(async (reader) => {
      const over = (): boolean => isOver(reader) || performance.now() > deadline;
      if (reader.session === ASKER) await answerAll(clients, reader, over);
      while (!over()) await pause();
      if (isOver(reader)) return;
      throw new Error(`Round ${round} (${fault}): a turn of ${reader.session} has no end. ${shown(places)}`);
    }),
  );
  expectAlive(places);
  if (pids.length > 0) await command(clients, "delete", (on) => on(`amp-${round}`).delete().catch(ignoreGone));
}

/** A delete whose answer was lost has happened all the same. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "session_not_found")) throw error;
}

/** What clients saw is gapless, has one end per turn, and every acknowledged prompt ran once, in order. */
async function check({ readers, prompts, places }: Running): Promise<void> {
  for (const { session, events } of readers) {
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    const started = events.flatMap((event) => (event.type === "turn.started" ? [event.data] : []));
    const ended = events.flatMap((event) => (event.type === "turn.ended" ? [event.data.turn_id] : []));
    expect(ended).toEqual(started.map(({ turn_id }) => turn_id));
    expect(started.map(({ prompt_id }) => prompt_id)).toEqual(prompts.get(session));
    // What clients saw is what is stored, whichever host is asked.
    for (const { host } of places) {
      const { lastSequence } = await host.client.session(session).get({ limit: 0 });
      expect(lastSequence).toBe(events.length);
    }
  }
}

// They take seconds each: ten in CI, elsewhere with `npm run test:postgres -- --rounds N`.
test.runIf(ROUNDS > 0)(
  `${ROUNDS} rounds of faults on three hosts: nothing lost, nothing twice, one end per turn`,
  { timeout: 120_000 + ROUNDS * ROUND_MS },
  async () => {
    console.log(`FRANCA_TEST_SEED=${firstSeed}`);
    const places = await startPlaces();
    const urls = places.map(({ host }) => host.url);
    const clients: Clients = { urls, output: () => shown(places), commands: 0 };
    const names = [...FLOODS, ASKER];
    for (const [index, id] of names.entries()) {
      const host = places[index % places.length]?.host;
      await host?.client.create({ id, agent: "mock", directory: host.home });
    }
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const readers = names.map((name) => read(name, clients.urls, stop.signal));
    const prompts = new Map<string, string[]>(names.map((name) => [name, []]));
    const running: Running = { places, clients, readers, prompts, faults: [], agents: 0 };
    for (let round = 0; round < ROUNDS; round += 1) await playRound(running, round);
    const last = await command(clients, "get", (on) => on(ASKER).get({ limit: 0 }));
    expect(last.title).toBe(`round ${ROUNDS - 1}`);
    await pause(LEASE_MS);
    stop.abort();
    await check(running);
    const fenced = places.reduce((sum, { host }) => sum + host.output().split("lease.lost").length - 1, 0);
    const ends = readers.flatMap(({ ends: own }) => [...own.values()]);
    const count = (end: string): number => ends.filter((one) => one.startsWith(end)).length;
    const events = readers.reduce((sum, reader) => sum + reader.events.length, 0);
    const connections = readers.reduce((sum, reader) => sum + reader.connections, 0);
    const facts = [
      `${ends.length} prompts`,
      `${clients.commands} commands through every host`,
      `${count("completed")} completed`,
      `${count("interrupted")} interrupted`,
      `${events} events over ${connections} connections`,
      `${fenced} leases lost`,
      `${running.agents} agent processes of fenced hosts, all gone`,
    ];
    console.log(`rounds ${ROUNDS} (${running.faults.join(", ")}): ${facts.join(", ")}; 0 lost, 0 twice, 0 gaps`);
  },
);
