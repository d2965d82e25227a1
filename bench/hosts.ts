/**
 * Several hosts on one Postgres, beside SQLite and the bare relay: floods on the session's own host and through another
 * one, how soon an event is delivered there, and how long a takeover takes. Needs Debian's or any other Postgres.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { claudeLines, floodFranca, floodRelay, type Round, type Run } from "./flood.ts";
import { idleAt, openStream, post } from "./http.ts";
import {
  atLeast,
  atMost,
  type Measurement,
  median,
  ms,
  percentile,
  type Result,
  spread,
  times,
  whole,
} from "./measure.ts";
import { addressOf, type Program, shimFolder, startFranca, startRelay, stop } from "./programs.ts";

const ROUNDS = 5;
const WARM_UP = 1;
const LEASE_MS = 3_000;
const PACED = 1_000;
const TAKEOVERS = 3;
/** Sessions that flood at once, each with a client of its own. */
const SESSIONS = 50;
const DELTAS_EACH = 400;
/** As by default: a host that floods has little time to renew, and how soon it is replaced is measured apart. */
const BUSY_LEASE_MS = 15_000;
const TOKEN = "the-token-of-the-bench";
const headers = { authorization: `Bearer ${TOKEN}` };

interface Server {
  readonly server: { readonly port: number; readonly password: string };
  readonly stop: () => void;
}

interface PostgresScript {
  readonly findPostgres: () => string | undefined;
  readonly startPostgres: (bin: string, options: { readonly fsync: string }) => Promise<Server>;
}

interface Host extends Program {
  readonly kill: () => Promise<void>;
}

export const hosts: Measurement = {
  name: "hosts",
  quick: false,
  async run({ quick }) {
    const script: PostgresScript = await import(
      pathToFileURL(join(process.cwd(), "scripts", "postgres-server.js")).href
    );
    const bin = script.findPostgres();
    if (bin === undefined) {
      return [{ what: "skipped: initdb, postgres and pg_ctl were not found", measured: "", target: null }];
    }
    const postgres = await script.startPostgres(bin, { fsync: "on" });
    try {
      const rounds = quick ? 2 : ROUNDS;
      return [
        ...(await floods(postgres, { clients: 1, rounds })),
        ...(await floods(postgres, { clients: 20, rounds })),
        ...(await manySessions(postgres, { rounds })),
        ...(await delivery(postgres)),
        await takeover(postgres),
      ];
    } finally {
      postgres.stop();
    }
  },
};

async function startHost({ server }: Server, { leaseMs = LEASE_MS } = {}): Promise<Host> {
  const home = shimFolder();
  writeFileSync(join(home, "token"), TOKEN, { mode: 0o600 });
  const args = ["serve", "--store", "postgres", "--port", "0", "--data", join(home, "data")];
  const more = ["--token-file", join(home, "token"), "--lease-ms", String(leaseMs), "--take-over"];
  const child = spawn(process.execPath, [join(process.cwd(), "bin", "franca.js"), ...args, ...more], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      PATH: `${home}:${process.env.PATH}`,
      HOME: home,
      XDG_CONFIG_HOME: home,
      FRANCA_DATABASE_URL: `postgres://franca:${server.password}@127.0.0.1:${server.port}/postgres`,
    },
  });
  const url = await addressOf(child);
  const remove = (): void => rmSync(home, { recursive: true, force: true });
  return {
    url,
    pid: child.pid ?? 0,
    async kill() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    async stop() {
      if (child.signalCode === null) await stop(child);
      remove();
    },
  };
}

type Name = "bare relay" | "SQLite" | "Postgres, the session's host" | "Postgres, another host";

async function floods(postgres: Server, { clients, rounds }: { clients: number; rounds: number }): Promise<Result[]> {
  const owner = await startHost(postgres, { leaseMs: BUSY_LEASE_MS });
  const [other, sqlite, relay] = await Promise.all([
    startHost(postgres, { leaseMs: BUSY_LEASE_MS }),
    startFranca(),
    startRelay("claude"),
  ]);
  const flood = { agent: "claude", surface: "universal" } as const;
  const lanes: readonly [Name, (round: Round) => Promise<Run>][] = [
    ["bare relay", (round) => floodRelay(relay, round, claudeLines)],
    ["SQLite", (round) => floodFranca(sqlite, { ...round, ...flood })],
    ["Postgres, the session's host", (round) => floodFranca(owner, { ...round, ...flood, headers })],
    [
      "Postgres, another host",
      (round) => floodFranca(owner, { ...round, ...flood, headers, through: other, lane: "-there" }),
    ],
  ];
  const runs = new Map<Name, Run[]>(lanes.map(([name]) => [name, []]));
  try {
    for (let round = 0; round < rounds + WARM_UP; round += 1) {
      for (const [name, run] of lanes) {
        const done = await run({ clients, round });
        if (round >= WARM_UP) runs.get(name)?.push(done);
      }
    }
  } finally {
    await Promise.all([owner.stop(), other.stop(), sqlite.stop(), relay.stop()]);
  }
  return lanes.map(([name]) => floodResult({ name, runs, clients }));
}

interface Flooded {
  readonly name: Name;
  readonly runs: ReadonlyMap<Name, readonly Run[]>;
  readonly clients: number;
}

function floodResult({ name, runs, clients }: Flooded): Result {
  const own = runs.get(name) ?? [];
  const lost = own.reduce((sum, run) => sum + run.lost + run.disordered, 0);
  const ratios = own.map(({ rate }, at) => rate / (runs.get("SQLite")?.[at]?.rate ?? Number.NaN));
  const facts = `${whole(median(own.map(({ rate }) => rate)))}/s, ${lost} lost or out of order`;
  const beside = name === "SQLite" ? "" : `${times(median(ratios))} (${spread(ratios)}) of SQLite, `;
  const verdict = name === "Postgres, the session's host" ? atLeast(median(ratios), 0.7) : null;
  return {
    what: `flood, ${name}, ${clients} client${clients > 1 ? "s" : ""}`,
    measured: beside + facts,
    target: verdict === null ? null : { ...verdict, reached: verdict.reached && lost === 0 },
  };
}

/** Many sessions at once, of the agent inside: deltas of all sessions, delivered per second. */
async function manySessions(postgres: Server, { rounds }: { rounds: number }): Promise<Result[]> {
  const owner = await startHost(postgres, { leaseMs: BUSY_LEASE_MS });
  const [other, sqlite] = await Promise.all([startHost(postgres, { leaseMs: BUSY_LEASE_MS }), startFranca()]);
  const lanes: readonly [Name, (name: string) => Promise<Many>][] = [
    ["SQLite", (name) => floodMany({ name, owner: sqlite, through: sqlite, headers: {} })],
    ["Postgres, the session's host", (name) => floodMany({ name, owner, through: owner, headers })],
    ["Postgres, another host", (name) => floodMany({ name, owner, through: other, headers })],
  ];
  const runs = new Map<Name, Many[]>(lanes.map(([name]) => [name, []]));
  try {
    for (let round = 0; round < rounds + WARM_UP; round += 1) {
      for (const [at, [name, run]] of lanes.entries()) {
        const done = await run(`many-${round}-${at}`);
        if (round >= WARM_UP) runs.get(name)?.push(done);
      }
    }
  } finally {
    await Promise.all([owner.stop(), other.stop(), sqlite.stop()]);
  }
  return lanes.map(([name]) => {
    const own = runs.get(name) ?? [];
    const lost = own.reduce((sum, run) => sum + run.lost, 0);
    const ratios = own.map(({ rate }, at) => rate / (runs.get("SQLite")?.[at]?.rate ?? Number.NaN));
    const beside = name === "SQLite" ? "" : `${times(median(ratios))} (${spread(ratios)}) of SQLite, `;
    const measured = `${beside}${whole(median(own.map(({ rate }) => rate)))}/s, ${lost} lost`;
    return { what: `${SESSIONS} sessions at once, ${name}`, measured, target: null };
  });
}

interface Many {
  readonly rate: number;
  readonly lost: number;
}

interface ManyOptions {
  readonly name: string;
  readonly owner: Program;
  readonly through: Program;
  readonly headers: Readonly<Record<string, string>>;
}

async function floodMany({ name, owner, through, headers: own }: ManyOptions): Promise<Many> {
  const paths = Array.from({ length: SESSIONS }, (_, at) => `/v1/sessions/${name}-${at}`);
  const env = { FRANCA_MOCK_DELAY_MS: "0" };
  await Promise.all(paths.map((path) => post(owner.url + path, { agent: "mock", directory: process.cwd(), env }, own)));
  let heard = 0;
  const started = performance.now();
  const streams = await Promise.all(
    paths.map((path) =>
      until(`${through.url}${path}/events/sse?offset=0`, {
        headers: own,
        end: '"type":"turn.ended"',
        mark: /"delta":("#)/g,
        onMark: () => {
          heard += 1;
        },
        begin: () => post(`${owner.url}${path}/messages`, { message: `flood ${DELTAS_EACH}` }, own),
      }),
    ),
  );
  const seconds = (performance.now() - started) / 1000;
  for (const stream of streams) stream.close();
  return { rate: heard / seconds, lost: SESSIONS * DELTAS_EACH - heard };
}

/** From the agent's write on one host to its arrival at a client of another: one each millisecond. */
async function delivery(postgres: Server): Promise<Result[]> {
  const [owner, other] = [await startHost(postgres), await startHost(postgres)];
  try {
    const path = "/v1/sessions/paced";
    await post(owner.url + path, { agent: "claude", directory: process.cwd() }, headers);
    await post(`${owner.url}${path}/messages`, { message: "silent" }, headers);
    const offset = await idleAt(owner.url + path, headers);
    const taken: number[] = [];
    const ended = await until(`${other.url}${path}/events/sse?offset=${offset}`, {
      end: '"type":"turn.ended"',
      mark: /"delta":"@(\d+)@/g,
      onMark: (at) => taken.push(Number(process.hrtime.bigint() - BigInt(at)) / 1e6),
      begin: () => post(`${owner.url}${path}/messages`, { message: `pace ${PACED}` }, headers),
    });
    ended.close();
    const what = "agent's write to a client of another host";
    return [
      { what: `${what}, p50 of ${taken.length}`, measured: ms(median(taken)), target: atMost(median(taken), 5, " ms") },
      { what: `${what}, p99`, measured: ms(percentile(taken, 99)), target: null },
    ];
  } finally {
    await Promise.all([owner.stop(), other.stop()]);
  }
}

interface Until {
  readonly end: string;
  readonly mark: RegExp;
  readonly onMark: (text: string) => void;
  readonly begin: () => Promise<unknown>;
  /** Those of the hosts unless others are given. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Follows a stream until its end is said. */
function until(
  url: string,
  { end, mark, onMark, begin, headers: own = headers }: Until,
): Promise<{ readonly close: () => void }> {
  return new Promise((resolve, reject) => {
    let rest = "";
    const opened = openStream(
      url,
      (chunk) => {
        rest += chunk.toString("utf8");
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) for (const [, text = ""] of line.matchAll(mark)) onMark(text);
        if (lines.some((line) => line.includes(end))) opened.then(resolve, reject);
      },
      own,
    );
    opened.then(begin).catch(reject);
  });
}

/** From kill -9 in mid-turn to the turn's end at a client of another host. */
async function takeover(postgres: Server): Promise<Result> {
  const taken: number[] = [];
  for (let round = 0; round < TAKEOVERS; round += 1) {
    const [owner, other] = [await startHost(postgres), await startHost(postgres)];
    try {
      const path = `/v1/sessions/taken-${round}`;
      await post(owner.url + path, { agent: "claude", directory: process.cwd() }, headers);
      let killedAt = 0;
      const ended = await until(`${other.url}${path}/events/sse?offset=0`, {
        end: '"type":"turn.ended"',
        mark: /"delta":"@(\d+)@/g,
        onMark() {
          if (killedAt > 0) return;
          killedAt = performance.now();
          void owner.kill();
        },
        begin: () => post(`${owner.url}${path}/messages`, { message: "pace 100000" }, headers),
      });
      taken.push(performance.now() - killedAt);
      ended.close();
    } finally {
      await Promise.all([owner.stop(), other.stop()]);
    }
  }
  const what = `takeover after kill -9, leases of ${LEASE_MS} ms, median of ${TAKEOVERS}`;
  return { what, measured: ms(median(taken)), target: null };
}
