/**
 * A flood of deltas from one agent to many clients: Franca, storing and converting, beside a bare relay that does
 * neither, and beside its peers where they are installed. All take turns, so that what else the machine does falls on
 * all. Deltas carry an index: what is lost and what comes out of order is counted.
 */
import { type Counting, type CountingOptions, openCounting } from "./clients.ts";
import { idleAt, post, send } from "./http.ts";
import { atLeast, atMost, type Measurement, median, type Result, spread, times, whole } from "./measure.ts";
import { openPeer, type Peer, type Peers } from "./peers.ts";
import { cpuSeconds, type Program, peakMemory, startFranca, startRelay } from "./programs.ts";

const DELTAS = 20_000;
const ROUNDS = 9;
/** Rounds that are not counted: a daemon lives longer than its first moments. */
const WARM_UP = 2;

interface Programs {
  readonly relay: Program;
  readonly codexRelay: Program;
  readonly franca: Program;
  /** One by itself: a daemon that has had clients of OpenCode's goes on rendering for the next. */
  readonly surface: Program;
  readonly peer: Peer | null;
}

interface Lane {
  readonly name: string;
  /** The lane it is compared with. */
  readonly beside: string | null;
  /** Of the other's rate, by clients. */
  readonly targets: readonly { readonly beside: string; readonly clients: number; readonly atLeast: number }[];
  readonly run: (programs: Programs, round: Round) => Promise<Run> | null;
}

export interface Round {
  readonly clients: number;
  readonly round: number;
}

export interface Run {
  /** Deliveries per second, over all clients. */
  readonly rate: number;
  readonly lost: number;
  readonly disordered: number;
  readonly cpuSeconds: number | null;
}

const RELAY = "bare relay, Claude's lines";
const CODEX_RELAY = "bare relay, Codex's lines";
const PEER = "sandbox-agent";
const PIPE = "Franca, Claude on a pipe";

const on = (beside: string, clients: number, least: number) => ({ beside, clients, atLeast: least });

const lanes: readonly Lane[] = [
  { name: RELAY, beside: null, targets: [], run: ({ relay }, round) => floodRelay(relay, round, claudeLines) },
  {
    name: CODEX_RELAY,
    beside: null,
    targets: [],
    run: ({ codexRelay }, round) => floodRelay(codexRelay, round, codexLines),
  },
  {
    name: PEER,
    beside: RELAY,
    targets: [],
    run: ({ peer }, round) => (peer === null ? null : floodPeer(peer, round)),
  },
  {
    name: PIPE,
    beside: RELAY,
    targets: [on(RELAY, 1, 1), on(RELAY, 20, 1), on(PEER, 1, 1.5), on(PEER, 20, 4)],
    run: ({ franca }, round) => floodFranca(franca, { ...round, agent: "claude", surface: "universal" }),
  },
  {
    name: "Franca, Codex on a pipe",
    beside: CODEX_RELAY,
    targets: [on(CODEX_RELAY, 1, 1), on(CODEX_RELAY, 20, 1)],
    run: ({ franca }, round) => floodFranca(franca, { ...round, agent: "codex", surface: "universal" }),
  },
  {
    name: "Franca, the mock agent inside",
    beside: RELAY,
    targets: [on(RELAY, 1, 1), on(RELAY, 20, 1)],
    run: ({ franca }, round) => floodFranca(franca, { ...round, agent: "mock", surface: "universal" }),
  },
  {
    name: "Franca, Claude on a pipe, /opencode",
    beside: PIPE,
    targets: [on(PIPE, 1, 0.7)],
    run: ({ surface }, round) => floodFranca(surface, { ...round, agent: "claude", surface: "opencode" }),
  },
];

export const flooding: Measurement = {
  name: "flood",
  quick: true,
  async run({ peers, quick }) {
    const results: Result[] = [];
    for (const clients of [1, 20]) results.push(...(await floodAll({ clients, peers, rounds: quick ? 5 : ROUNDS })));
    return results;
  },
};

interface Flooding {
  readonly clients: number;
  readonly rounds: number;
  readonly peers: Peers;
}

async function floodAll({ clients, peers, rounds }: Flooding): Promise<Result[]> {
  const [franca, surface, relay, codexRelay, peer] = await Promise.all([
    startFranca(),
    startFranca(),
    startRelay("claude"),
    startRelay("codex"),
    openPeer(peers),
  ]);
  const programs: Programs = { franca, surface, relay, codexRelay, peer };
  const runs = new Map<string, Run[]>();
  try {
    for (let round = 0; round < rounds + WARM_UP; round += 1) {
      for (const { name, run } of lanes) {
        const done = await run(programs, { clients, round });
        if (done !== null && round >= WARM_UP) runs.set(name, [...(runs.get(name) ?? []), done]);
      }
    }
    return [
      ...lanes.flatMap((lane) => resultsOf(lane, { runs, clients })),
      weightOf({ name: "Franca's peak memory", program: franca, clients }),
      weightOf({ name: "Franca's peak memory, /opencode", program: surface, clients }),
      ...(peer === null
        ? []
        : [{ ...weightOf({ name: `${PEER}'s peak memory`, program: peer, clients }), target: null }]),
    ];
  } finally {
    await Promise.all([franca.stop(), surface.stop(), relay.stop(), codexRelay.stop(), peer?.stop()]);
  }
}

const clientsAs = (clients: number): string => `${clients} client${clients > 1 ? "s" : ""}`;

function weightOf({ name, program, clients }: { name: string; program: Program; clients: number }): Result {
  const peak = peakMemory(program.pid) ?? 0;
  const target = clients === 20 ? atMost(peak, 150, " MiB") : null;
  return { what: `${name}, ${clientsAs(clients)}`, measured: `${peak.toFixed(0)} MiB`, target };
}

interface Measured {
  readonly runs: ReadonlyMap<string, readonly Run[]>;
  readonly clients: number;
}

function resultsOf({ name, beside, targets }: Lane, { runs, clients }: Measured): Result[] {
  const own = runs.get(name);
  if (own === undefined) return [];
  const rates = own.map(({ rate }) => rate);
  const lost = own.reduce((sum, run) => sum + run.lost, 0);
  const disordered = own.reduce((sum, run) => sum + run.disordered, 0);
  const cpu = median(own.flatMap(({ cpuSeconds: seconds }) => (seconds === null ? [] : [seconds])));
  const facts = [`${whole(median(rates))}/s`, `${lost} lost`, `${disordered} out of order`, `${cpu.toFixed(2)} s CPU`];
  const sound = lost === 0 && disordered === 0;
  const what = `${name}, ${clientsAs(clients)}`;
  // Round by round, then the middle: both sides of a ratio had the same machine.
  const ratiosTo = (other: string): readonly number[] =>
    own.flatMap(({ rate }, round) => rate / (runs.get(other)?.[round]?.rate ?? Number.NaN)).filter(Number.isFinite);
  const asked = targets.filter((target) => target.clients === clients && runs.has(target.beside));
  if (asked.length === 0) {
    const ratios = beside === null ? [] : ratiosTo(beside);
    const ratio = ratios.length === 0 ? [] : [`${times(median(ratios))} of ${beside}`];
    return [{ what, measured: [...ratio, ...facts].join(", "), target: null, rate: median(rates) }];
  }
  return asked.map(({ beside: other, atLeast: limit }, index) => {
    const ratios = ratiosTo(other);
    const verdict = atLeast(median(ratios), limit);
    const ratio = `${times(median(ratios))} (${spread(ratios)}) of ${other}`;
    return {
      what,
      measured: [ratio, ...(index === 0 ? facts : [])].join(", "),
      target: { ...verdict, reached: verdict.reached && sound },
      ...(index === 0 ? { rate: median(rates) } : {}),
    };
  });
}

export interface RelayLines {
  readonly mark: string;
  readonly end: string;
  readonly ask: object;
}

export const claudeLines: RelayLines = {
  mark: '"text_delta","text":"#',
  end: '"type":"result"',
  ask: { type: "user", message: { role: "user", content: [{ type: "text", text: `flood ${DELTAS}` }] } },
};

const codexLines: RelayLines = {
  mark: '"delta":"#',
  end: '"turn/completed"',
  ask: { id: 1, method: "turn/start", params: { input: [{ type: "text", text: `flood ${DELTAS}` }] } },
};

export function floodRelay(relay: Program, { clients }: Round, { mark, end, ask }: RelayLines): Promise<Run> {
  const begin = () => send("POST", relay.url, `${JSON.stringify(ask)}\n`);
  return measure({ clients, program: relay, url: relay.url, mark, end, begin });
}

/** It repeats a session's past to each client: a new session for each round. */
function floodPeer(peer: Peer, { clients, round }: Round): Promise<Run> {
  return peer.open(`${clients}-${round}`).then(({ url, headers, prompt }) =>
    measure({
      clients,
      program: peer,
      url,
      headers,
      mark: '"text":"#',
      end: '"stopReason"',
      begin: () => prompt(`flood ${DELTAS}`),
      answers: true,
    }),
  );
}

interface FrancaFlood extends Round {
  readonly agent: "mock" | "claude" | "codex";
  readonly surface: "universal" | "opencode";
  readonly headers?: Readonly<Record<string, string>>;
  /** The host that clients are connected to, when it is not the session's own. */
  readonly through?: Program;
  /** Tells sessions of one program apart. */
  readonly lane?: string;
}

export async function floodFranca(franca: Program, flood: FrancaFlood): Promise<Run> {
  const { clients, round, agent, surface, headers = {}, through = franca, lane = "" } = flood;
  // One session for all rounds: the relay's agent too is the same process in all of them, and as warm.
  const name = `/v1/sessions/${surface}-${agent}-${clients}${lane}`;
  const path = franca.url + name;
  if (round === 0) await post(path, { agent, directory: process.cwd() }, headers);
  const before = await idleAt(path, headers);
  const directory = encodeURIComponent(process.cwd());
  const mark = '"delta":"#';
  const stream =
    surface === "universal"
      ? { url: `${through.url}${name}/events/sse?offset=${before}`, mark, end: '"type":"turn.ended"' }
      : { url: `${franca.url}/opencode/event?directory=${directory}`, mark, end: '"type":"session.idle"' };
  const begin = () => post(`${path}/messages`, { message: `flood ${DELTAS}` }, headers);
  return measure({ clients, program: franca, ...stream, headers, begin });
}

/** When a client has heard the end; without one, when it has heard anything last. */
const endOf = ({ ended, lastAt }: Counting, lost: Promise<unknown> | null): Promise<number> =>
  lost === null ? ended : Promise.race([ended, lost.then(lastAt)]);

interface Measure extends CountingOptions {
  readonly clients: number;
  readonly program: Program;
  readonly begin: () => Promise<unknown>;
  /** `begin` resolves when all is said: a client whose end was lost is not waited for. */
  readonly answers?: boolean;
}

const LOST_MS = 1_000;

async function measure({ program, clients, begin, answers = false, ...counting }: Measure): Promise<Run> {
  const readers = await Promise.all(Array.from({ length: clients }, () => openCounting(counting)));
  const cpuBefore = cpuSeconds(program.pid);
  const startedAt = performance.now();
  const begun = begin();
  const lost = answers ? begun.then(() => new Promise((resolve) => setTimeout(resolve, LOST_MS))) : null;
  const ends = await Promise.all(readers.map((reader) => endOf(reader, lost)));
  const seconds = (Math.max(...ends) - startedAt) / 1000;
  const cpuAfter = cpuSeconds(program.pid);
  await begun;
  const counts = readers.map(({ count }) => count());
  for (const reader of readers) reader.close();
  return {
    rate: (DELTAS * clients) / seconds,
    lost: counts.reduce((sum, { received }) => sum + DELTAS - received, 0),
    disordered: counts.reduce((sum, count) => sum + count.disordered, 0),
    cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
  };
}
