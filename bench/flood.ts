/**
 * A flood of deltas from one agent to many clients: Franca, storing and converting, beside a bare relay that does
 * neither.
 */
import { openCounting } from "./clients.ts";
import { cpuSeconds, type Program, peakMemory, startFranca, startRelay } from "./programs.ts";

export interface FloodOptions {
  readonly deltas: number;
  readonly clients: number;
  readonly rounds: number;
}

export interface FloodRun {
  /** Deliveries per second, over all clients. */
  readonly rate: number;
  readonly lost: number;
  readonly cpuSeconds: number | null;
  readonly peakMiB: number | null;
}

export interface FloodResult {
  readonly relay: readonly FloodRun[];
  /** The mock agent, which runs inside the daemon. */
  readonly inside: readonly FloodRun[];
  /** The relay's own agent, on a pipe as real agents are. */
  readonly piped: readonly FloodRun[];
}

/** Rounds that are not counted, for both sides: a daemon lives longer than its first moments. */
const WARM_UP = 2;

/** They take turns, so that what else the machine does falls on all. */
export async function flood({ deltas, clients, rounds }: FloodOptions): Promise<FloodResult> {
  const [franca, relay] = await Promise.all([startFranca(), startRelay()]);
  const runs = { relay: [] as FloodRun[], inside: [] as FloodRun[], piped: [] as FloodRun[] };
  try {
    for (let round = 0; round < rounds + WARM_UP; round += 1) {
      const ofRelay = await floodRelay(relay, { deltas, clients });
      const inside = await floodFranca(franca, { deltas, clients, agent: "mock", session: `inside-${round}` });
      const piped = await floodFranca(franca, { deltas, clients, agent: "claude", session: `piped-${round}` });
      if (round < WARM_UP) continue;
      runs.relay.push(ofRelay);
      runs.inside.push(inside);
      runs.piped.push(piped);
    }
  } finally {
    await Promise.all([franca.stop(), relay.stop()]);
  }
  return runs;
}

type Size = Pick<FloodOptions, "deltas" | "clients">;

async function floodRelay(relay: Program, size: Size): Promise<FloodRun> {
  return measure({
    ...size,
    program: relay,
    stream: relay.url,
    end: '"type":"result"',
    begin: () => post(`${relay.url}/${size.deltas}`, {}),
    // The agent's words around the deltas.
    expected: size.deltas + 7,
  });
}

interface FrancaFlood extends Size {
  readonly agent: "mock" | "claude";
  readonly session: string;
}

async function floodFranca(franca: Program, { session, agent, ...size }: FrancaFlood): Promise<FloodRun> {
  const path = `${franca.url}/v1/sessions/${session}`;
  await post(path, { agent, directory: process.cwd() });
  // A first turn, so that the agent runs: the relay's does too.
  await post(`${path}/messages`, { message: "silent" });
  const before = await idleAt(path);
  const run = await measure({
    ...size,
    program: franca,
    stream: `${path}/events/sse?offset=${before}`,
    end: '"type":"turn.ended"',
    begin: () => post(`${path}/messages`, { message: `flood ${size.deltas}` }),
    expected: null,
  });
  const told = (await idleAt(path)) - before;
  await send(path, { method: "DELETE" });
  return { ...run, lost: run.lost + told - run.events };
}

interface Measure extends Size {
  readonly program: Program;
  readonly stream: string;
  readonly end: string;
  readonly begin: () => Promise<void>;
  readonly expected: number | null;
}

async function measure(options: Measure): Promise<FloodRun & { readonly events: number }> {
  const { program, stream, end, begin, deltas, clients, expected } = options;
  const readers = await Promise.all(Array.from({ length: clients }, () => openCounting({ url: stream, end })));
  const cpuBefore = cpuSeconds(program.pid);
  const startedAt = performance.now();
  await begin();
  const ends = await Promise.all(readers.map(({ ended }) => ended));
  const seconds = (Math.max(...ends) - startedAt) / 1000;
  const counts = readers.map(({ count }) => count());
  for (const reader of readers) reader.close();
  const cpuAfter = cpuSeconds(program.pid);
  const fewest = Math.min(...counts);
  return {
    rate: (deltas * clients) / seconds,
    // Every reader is compared with what there was; where only the server knows, with the one who got most.
    lost: (expected ?? Math.max(...counts)) - fewest,
    events: Math.max(...counts),
    cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
    peakMiB: peakMemory(program.pid),
  };
}

const post = (url: string, body: object): Promise<void> => send(url, { method: "POST", body: JSON.stringify(body) });

async function send(url: string, request: RequestInit): Promise<void> {
  const response = await fetch(url, request);
  await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}

/** The session's last sequence, once nothing runs any more. */
async function idleAt(path: string): Promise<number> {
  for (;;) {
    const detail = (await (await fetch(`${path}?limit=0`)).json()) as { status: string; lastSequence: number };
    if (detail.status === "idle") return detail.lastSequence;
  }
}
