/**
 * Three hosts as processes of their own, rounds of faults: a host is killed, stopped beyond its lease, or the database
 * crashes, each in the middle of turns, while clients read from one host after the other. Counted and printed.
 */
import { expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { connect } from "../../src/sdk/index.ts";
import { temporaryFolder } from "../support/folders.ts";
import { restartServer } from "../support/postgres.ts";
import { databaseUrl, type Host, homeOf, killHost, startHost, TOKEN } from "../support/postgres-hosts.ts";

const ROUNDS = Number(process.env.FRANCA_TEST_ROUNDS ?? "0");
/** Takeover takes a lease and a look; the rest is for a busy machine. */
const ROUND_MS = 60_000;
const LEASE_MS = 1_500;
const args = ["--lease-ms", String(LEASE_MS), "--take-over"];
const PAUSE_MS = 50;
const FAULTS = ["kill", "stop", "crash of the database"] as const;

const pause = (ms = PAUSE_MS): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

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

/** Tries one host after the other, under one key, until one of them takes it. */
async function prompt(session: string, urls: readonly string[], key: string): Promise<{ id: string; tries: number }> {
  const deadline = performance.now() + ROUND_MS;
  for (let tries = 1; ; tries += 1) {
    const url = urls[tries % urls.length] ?? "";
    try {
      const signal = AbortSignal.timeout(LEASE_MS * 2);
      const client = connect({ url, token: TOKEN }).session(session);
      return { id: await client.prompt("flood 3000", { idempotencyKey: key, signal }), tries };
    } catch (error) {
      if (performance.now() > deadline) throw new Error(`No host takes a prompt for ${session}.`, { cause: error });
      await pause();
    }
  }
}

async function disturb(hosts: Host[], { round, database }: { round: number; database: string }): Promise<string> {
  const at = round % hosts.length;
  const victim = hosts[at];
  const fault = FAULTS[Math.floor(round / hosts.length + round) % FAULTS.length] ?? "kill";
  if (victim === undefined) throw new Error("There is a host.");
  if (fault === "kill") {
    await killHost(victim);
    await pause(LEASE_MS);
    hosts[at] = await startHost(database, { home: victim.home, args, port: new URL(victim.url).port });
  } else if (fault === "stop") {
    victim.child.kill("SIGSTOP");
    await pause(LEASE_MS * 2);
    victim.child.kill("SIGCONT");
  } else restartServer();
  return fault;
}

/** The end of what each host printed. */
const shown = (hosts: readonly Host[]): string => hosts.map(({ output }) => output().slice(-1_500)).join("\n--\n");

// They take seconds each: only with `npm run test:postgres -- --rounds N`.
test.runIf(ROUNDS > 0)(
  `${ROUNDS} rounds of faults on three hosts: nothing lost, nothing twice, one end per turn`,
  {
    timeout: 60_000 + ROUNDS * ROUND_MS,
  },
  async () => {
    const database = await databaseUrl(temporaryFolder());
    const hosts: Host[] = [];
    for (const name of ["a", "b", "c"]) hosts.push(await startHost(database, { home: homeOf(name), args }));
    const urls = hosts.map(({ url }) => url);
    const names = ["one", "two", "three"];
    for (const [index, id] of names.entries()) {
      const host = hosts[index];
      await host?.client.create({ id, agent: "mock", directory: host.home });
    }
    const stop = new AbortController();
    const readers = names.map((name) => read(name, urls, stop.signal));
    const faults: string[] = [];
    const prompts = new Map<string, string[]>(names.map((name) => [name, []]));
    let tries = 0;
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const deadline = performance.now() + ROUND_MS;
        const accepted = names.map(async (name) => {
          const taken = await prompt(name, urls, `round ${round}`);
          prompts.get(name)?.push(taken.id);
          tries += taken.tries;
        });
        await Promise.race(accepted);
        faults.push(await disturb(hosts, { round, database }));
        await Promise.all(accepted);
        for (const { session, ends } of readers) {
          while (!(prompts.get(session) ?? []).every((id) => ends.has(id))) {
            if (performance.now() > deadline)
              throw new Error(`Round ${round}: a turn of ${session} has no end. ${shown(hosts)}`);
            await pause();
          }
        }
      }
    } finally {
      stop.abort();
    }

    let events = 0;
    let fenced = 0;
    for (const { session, events: seen } of readers) {
      expect(seen.map(({ sequence }) => sequence)).toEqual(seen.map((_, index) => index + 1));
      const started = seen.flatMap((event) => (event.type === "turn.started" ? [event.data] : []));
      const ended = seen.flatMap((event) => (event.type === "turn.ended" ? [event.data.turn_id] : []));
      expect(ended).toEqual(started.map(({ turn_id }) => turn_id));
      expect(started.map(({ prompt_id }) => prompt_id)).toEqual(prompts.get(session));
      events += seen.length;
    }
    // What clients saw is what is stored.
    for (const { session, events: seen } of readers) {
      const [host] = hosts;
      const { lastSequence = 0 } = (await host?.client.session(session).get({ limit: 0 })) ?? {};
      expect(lastSequence).toBe(seen.length);
    }
    for (const { output } of hosts) fenced += output().split("lease.lost").length - 1;
    const ends = readers.flatMap(({ ends: own }) => [...own.values()]);
    const count = (end: string): number => ends.filter((one) => one.startsWith(end)).length;
    const connections = readers.reduce((sum, reader) => sum + reader.connections, 0);
    console.log(
      `rounds ${ROUNDS} (${faults.join(", ")}): ${ends.length} prompts in ${tries} tries, ${count("completed")} completed, ` +
        `${count("interrupted")} interrupted, ${events} events over ${connections} connections, ${fenced} leases lost; ` +
        "0 lost, 0 twice, 0 gaps",
    );
  },
);
