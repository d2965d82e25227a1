/**
 * A flood of deltas from one agent to many clients: Franca, storing and converting, beside a bare relay that does
 * neither. All take turns, so that what else the machine does falls on all.
 */
import { openCounting } from "./clients.ts";
import { idleAt, post, send } from "./http.ts";
import { atLeast, atMost, type Measurement, median, type Result, times, whole } from "./measure.ts";
import { cpuSeconds, type Program, peakMemory, startFranca, startRelay } from "./programs.ts";

const DELTAS = 20_000;
/** Rounds that are not counted: a daemon lives longer than its first moments. */
const WARM_UP = 2;

interface Lane {
  readonly name: string;
  /** Of the relay's rate, by clients; null for the relay itself. */
  readonly target: Readonly<Record<number, number>> | null;
  readonly run: (programs: Programs, options: { clients: number; round: number }) => Promise<Run>;
}

interface Programs {
  readonly relay: Program;
  readonly franca: Program;
  /** One by itself: a daemon that has had clients of OpenCode's goes on retelling for the next. */
  readonly surface: Program;
}

interface Run {
  /** Deliveries per second, over all clients. */
  readonly rate: number;
  readonly lost: number;
  readonly cpuSeconds: number | null;
}

const lanes: readonly Lane[] = [
  { name: "bare relay", target: null, run: ({ relay }, { clients }) => floodRelay(relay, clients) },
  {
    name: "Franca, the relay's agent on a pipe",
    target: { 1: 1, 20: 0.5 },
    run: ({ franca }, { clients, round }) =>
      floodFranca(franca, { clients, agent: "claude", session: `piped-${clients}-${round}`, surface: "universal" }),
  },
  {
    name: "Franca, the mock agent inside",
    target: { 1: 1, 20: 0.5 },
    run: ({ franca }, { clients, round }) =>
      floodFranca(franca, { clients, agent: "mock", session: `inside-${clients}-${round}`, surface: "universal" }),
  },
  {
    name: "Franca, the mock agent, OpenCode's API",
    target: null,
    run: ({ surface }, { clients, round }) =>
      floodFranca(surface, { clients, agent: "mock", session: `surface-${clients}-${round}`, surface: "opencode" }),
  },
];

export const flooding: Measurement = {
  name: "flood",
  quick: true,
  async run({ quick }) {
    const results: Result[] = [];
    for (const clients of [1, 20]) results.push(...(await floodAll({ clients, rounds: quick ? 9 : 21 })));
    return results;
  },
};

async function floodAll({ clients, rounds }: { clients: number; rounds: number }): Promise<Result[]> {
  const [franca, surface, relay] = await Promise.all([startFranca(), startFranca(), startRelay()]);
  const runs = new Map<Lane, Run[]>(lanes.map((lane) => [lane, []]));
  try {
    for (let round = 0; round < rounds + WARM_UP; round += 1) {
      for (const lane of lanes) {
        const run = await lane.run({ franca, surface, relay }, { clients, round });
        if (round >= WARM_UP) runs.get(lane)?.push(run);
      }
    }
    const memory = Object.entries({ "Franca's peak memory": franca, "the same with OpenCode's API": surface });
    const weights = memory.map(([name, { pid }]): Result => {
      const peak = peakMemory(pid) ?? 0;
      const target = clients === 20 ? atMost(peak, 150, " MiB") : null;
      return { what: `${name}, ${clientsAs(clients)}`, measured: `${peak.toFixed(0)} MiB`, target };
    });
    return [...tell(runs, clients), ...weights];
  } finally {
    await Promise.all([franca.stop(), surface.stop(), relay.stop()]);
  }
}

const clientsAs = (clients: number): string => `${clients} client${clients > 1 ? "s" : ""}`;

function tell(runs: ReadonlyMap<Lane, readonly Run[]>, clients: number): Result[] {
  const [relay = []] = runs.values();
  return [...runs].map(([{ name, target }, own]) => {
    // Round by round, then the middle: both sides of a ratio had the same machine.
    const ratio = median(own.map(({ rate }, round) => rate / (relay[round]?.rate ?? rate)));
    const lost = own.reduce((sum, run) => sum + run.lost, 0);
    const cpu = median(own.flatMap(({ cpuSeconds: seconds }) => (seconds === null ? [] : [seconds])));
    const rates = own.map(({ rate }) => rate);
    const measured = [
      ...(own === relay ? [] : [times(ratio)]),
      `${whole(median(rates))}/s (best ${whole(Math.max(...rates))}), ${lost} lost, ${cpu.toFixed(2)} s CPU`,
    ].join("  ");
    const limit = target?.[clients];
    const verdict = limit === undefined ? null : atLeast(ratio, limit);
    return {
      what: `${name}, ${clientsAs(clients)}`,
      measured,
      target: verdict === null ? null : { ...verdict, reached: verdict.reached && lost === 0 },
    };
  });
}

function floodRelay(relay: Program, clients: number): Promise<Run> {
  return measure({
    clients,
    program: relay,
    stream: relay.url,
    mark: '"type":"text_delta"',
    end: '"type":"result"',
    begin: () => post(`${relay.url}/${DELTAS}`, {}),
  });
}

interface FrancaFlood {
  readonly clients: number;
  readonly agent: "mock" | "claude";
  readonly session: string;
  readonly surface: "universal" | "opencode";
}

async function floodFranca(franca: Program, { clients, session, agent, surface }: FrancaFlood): Promise<Run> {
  const path = `${franca.url}/v1/sessions/${session}`;
  await post(path, { agent, directory: process.cwd() });
  // A first turn, so that the agent runs: the relay's does too.
  await post(`${path}/messages`, { message: "silent" });
  const before = await idleAt(path);
  const directory = encodeURIComponent(process.cwd());
  const stream =
    surface === "universal"
      ? { stream: `${path}/events/sse?offset=${before}`, mark: '"type":"item.delta"', end: '"type":"turn.ended"' }
      : {
          stream: `${franca.url}/opencode/event?directory=${directory}`,
          mark: '"type":"message.part.delta"',
          end: '"type":"session.idle"',
        };
  const begin = () => post(`${path}/messages`, { message: `flood ${DELTAS}` });
  const run = await measure({ clients, program: franca, ...stream, begin });
  await send("DELETE", path);
  return run;
}

interface Measure {
  readonly clients: number;
  readonly program: Program;
  readonly stream: string;
  readonly mark: string;
  readonly end: string;
  readonly begin: () => Promise<unknown>;
}

async function measure({ program, stream, mark, end, begin, clients }: Measure): Promise<Run> {
  const readers = await Promise.all(Array.from({ length: clients }, () => openCounting({ url: stream, mark, end })));
  const cpuBefore = cpuSeconds(program.pid);
  const startedAt = performance.now();
  await begin();
  const ends = await Promise.all(readers.map(({ ended }) => ended));
  const seconds = (Math.max(...ends) - startedAt) / 1000;
  const cpuAfter = cpuSeconds(program.pid);
  const lost = readers.reduce((sum, { count }) => sum + DELTAS - count(), 0);
  for (const reader of readers) reader.close();
  return {
    rate: (DELTAS * clients) / seconds,
    lost,
    cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
  };
}
