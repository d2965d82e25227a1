/** From nothing to the first session, beside a server that does nothing; and what the daemon weighs then. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post, send } from "./http.ts";
import { atMost, inTurns, type Measurement, median, ms, type Result, times } from "./measure.ts";
import { openPeer, startOpenCode } from "./peers.ts";
import { addressOf, memoryNow, type Program, peakMemory, startFranca, stop } from "./programs.ts";

const SESSIONS = 1_000;
const AT_ONCE = 20;
/** What each says when all talk at once. */
const WORDS = 100;
/** Sessions with nothing to do are unloaded after half a minute. */
const UNLOADED_MS = 60_000;
/** A daemon that has nothing to do gives memory back within this time. */
const RESTED_MS = 25_000;
const isNewer = Number(process.versions.node.split(".")[0]) >= 24;

/** The empty server: what starting Node costs anyone. */
export function playEmpty(): void {
  const server = createServer((_incoming, outgoing) => outgoing.end("ok"));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (address !== null && typeof address === "object") console.log(`http://127.0.0.1:${address.port}`);
  });
}

async function startEmpty(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [process.argv[1] ?? "", "empty"], { stdio: ["ignore", "pipe", "inherit"] });
  await send("GET", await addressOf(child));
  const taken = performance.now() - startedAt;
  await stop(child);
  return taken;
}

/** The store is open, recovery is done, a session is created. */
async function startDaemon(): Promise<number> {
  const startedAt = performance.now();
  const franca = await startFranca();
  await post(`${franca.url}/v1/sessions/first`, { agent: "mock", directory: process.cwd() });
  const taken = performance.now() - startedAt;
  await franca.stop();
  return taken;
}

async function timeStart(start: () => Promise<Program | null>): Promise<number> {
  const startedAt = performance.now();
  const program = await start();
  const taken = performance.now() - startedAt;
  await program?.stop();
  return taken;
}

export const starting: Measurement = {
  name: "start",
  quick: true,
  async run({ quick, peers }) {
    const taken = await inTurns(quick ? 7 : 15, [startDaemon, startEmpty]);
    const ratio = median(taken.ours) / median(taken.theirs);
    const measured = `${times(ratio)} (${ms(median(taken.ours))}, ${ms(median(taken.theirs))})`;
    const target = atMost(ratio, isNewer ? 2 : 2.5);
    const rows: Result[] = [{ what: "cold start to the first session, beside an empty server", measured, target }];
    const { sandboxAgent, opencode } = peers;
    if (sandboxAgent !== null) rows.push(peerStart("sandbox-agent", await timeStart(() => openPeer(peers))));
    if (opencode !== null) rows.push(peerStart("opencode serve", await timeStart(() => startOpenCode(opencode))));
    return rows;
  },
};

const peerStart = (name: string, taken: number): Result => ({
  what: `${name}, cold start to healthy`,
  measured: ms(taken),
  target: null,
});

/** Whole commands, beside a Node that does nothing: what it costs to ask from a shell. */
export const running: Measurement = {
  name: "run",
  quick: true,
  async run({ quick }) {
    const franca = await startFranca();
    const program = join(process.cwd(), "bin", "franca.js");
    const rounds = quick ? 7 : 15;
    const command =
      (...args: readonly string[]) =>
      (): Promise<number> =>
        timeCommand([program, ...args]);
    const nothing = (): Promise<number> => timeCommand(["-e", "0"]);
    const ask = command("run", "--agent", "mock", "--attach", franca.url, "echo hello");
    const data = mkdtempSync(join(tmpdir(), "franca-bench-"));
    const alone = command("run", "--agent", "mock", "--data", data, "echo hello");
    try {
      await ask();
      await alone();
      const version = compared(await inTurns(rounds, [command("--version"), nothing]));
      const help = compared(await inTurns(rounds, [command("--help"), nothing]));
      const turn = median(await timeTurns(franca, rounds));
      const asked = compared(await inTurns(rounds, [ask, nothing]), turn);
      const without = compared(await inTurns(rounds, [ask, alone]));
      return [
        { what: "franca --version, beside node -e 0", measured: version.measured, target: null },
        { what: "franca --help, beside node -e 0", measured: help.measured, target: null },
        {
          what: "franca run through a daemon without its turn, beside node -e 0",
          measured: `${asked.measured}, the turn ${ms(turn)}`,
          target: atMost(asked.ratio, 2),
        },
        {
          what: "franca run through a daemon, beside one without",
          measured: without.measured,
          target: atMost(without.ratio, 1),
        },
      ];
    } finally {
      await franca.stop();
      rmSync(data, { recursive: true, force: true });
    }
  },
};

/** The session and the turn that the command asks for, asked for by a program that runs already. */
async function timeTurns(franca: Program, rounds: number): Promise<number[]> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    await talk(`${franca.url}/v1/sessions/turn-${round}`, "echo hello");
    taken.push(performance.now() - startedAt);
  }
  return taken;
}

interface Taken {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

/** `apart`: milliseconds that are not ours to save. */
function compared({ ours, theirs }: Taken, apart = 0) {
  const ratio = (median(ours) - apart) / median(theirs);
  return { ratio, measured: `${times(ratio)} (${ms(median(ours))}, ${ms(median(theirs))})` };
}

async function timeCommand(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}: ${said}`);
  return performance.now() - startedAt;
}

export const weight: Measurement = {
  name: "memory",
  quick: false,
  async run({ peers }) {
    const franca = await startFranca();
    try {
      await send("GET", `${franca.url}/v1/health`);
      const fresh = memoryNow(franca.pid) ?? 0;
      await delay(RESTED_MS);
      const idle = memoryNow(franca.pid) ?? 0;
      await talkAtOnce(franca, { sessions: SESSIONS, atOnce: AT_ONCE, message: "echo hello" });
      const busy = (memoryNow(franca.pid) ?? 0) - idle;
      await delay(UNLOADED_MS);
      const more = (memoryNow(franca.pid) ?? 0) - idle;
      return [
        {
          what: "an idle daemon",
          measured: `${idle.toFixed(0)} MiB (${fresh.toFixed(0)} right after its start)`,
          target: atMost(idle, 60, " MiB"),
        },
        {
          what: `${SESSIONS} sessions that had a turn and are idle`,
          measured: `${more.toFixed(0)} MiB more (${busy.toFixed(0)} right after their turns)`,
          target: atMost(more, 25, " MiB"),
        },
        await allTalking(),
        ...(await peersWeight(peers)),
      ];
    } finally {
      await franca.stop();
    }
  },
};

const delay = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs));

interface Talking {
  readonly sessions: number;
  readonly atOnce: number;
  readonly message: string;
}

/** Gives the number of deltas that were heard. */
async function talkAtOnce(franca: Program, { sessions, atOnce, message }: Talking): Promise<number> {
  let heard = 0;
  for (let made = 0; made < sessions; made += atOnce) {
    const numbers = Array.from({ length: atOnce }, (_, index) => made + index);
    const counts = await Promise.all(
      numbers.map((number) => talk(`${franca.url}/v1/sessions/idle-${number}`, message)),
    );
    for (const count of counts) heard += count;
  }
  return heard;
}

async function talk(session: string, message: string): Promise<number> {
  await post(session, { agent: "mock", directory: process.cwd() });
  // Held open until the turn is over.
  const stream = await post(`${session}/messages/stream`, { message });
  return stream.split('"type":"item.delta"').length - 1;
}

async function allTalking(): Promise<Result> {
  const franca = await startFranca();
  try {
    const heard = await talkAtOnce(franca, { sessions: SESSIONS, atOnce: SESSIONS, message: `flood ${WORDS}` });
    const peak = peakMemory(franca.pid) ?? 0;
    const lost = SESSIONS * WORDS - heard;
    return {
      what: `${SESSIONS} sessions talking at once, peak`,
      measured: `${peak.toFixed(0)} MiB, ${lost} lost`,
      target: { text: "none lost", reached: lost === 0, score: lost === 0 ? 1 : 0 },
    };
  } finally {
    await franca.stop();
  }
}

async function peersWeight(peers: Parameters<typeof openPeer>[0]): Promise<Result[]> {
  const { opencode } = peers;
  const started = [
    { name: "sandbox-agent", program: await openPeer(peers) },
    { name: "opencode serve", program: opencode === null ? null : await startOpenCode(opencode) },
  ];
  const rows: Result[] = [];
  for (const { name, program } of started) {
    if (program === null) continue;
    rows.push({ what: `${name}, idle`, measured: `${(memoryNow(program.pid) ?? 0).toFixed(0)} MiB`, target: null });
    await program.stop();
  }
  return rows;
}
