/** How long a person waits: from a prompt to the first word and to the end, and for each word that is said. */
import { spawn } from "node:child_process";
import { type Frames, idleAt, openStream, post } from "./http.ts";
import { atMost, type Measurement, ms, percentile, type Result } from "./measure.ts";
import { openPeer, type Peer } from "./peers.ts";
import { type Program, startFranca } from "./programs.ts";

const STAMP = /@(\d+)@/g;

/** Sessions that talk at once beside the one that is measured. */
const OTHERS = 50;

export const latency: Measurement = {
  name: "latency",
  quick: true,
  async run({ quick, peers }) {
    const franca = await startFranca();
    const peer = await openPeer(peers);
    try {
      const own = await promptFranca(franca, quick ? 200 : 1_000);
      const theirs = peer === null ? null : await promptPeer(peer, quick ? 200 : 1_000);
      return [...promptRows(own, theirs), ...(await deltas(franca, quick ? 2_000 : 10_000))];
    } finally {
      await franca.stop();
      await peer?.stop();
    }
  },
};

/** Milliseconds from a prompt to what came back. */
interface Waits {
  readonly event: readonly number[];
  readonly delta: readonly number[];
  readonly end: readonly number[];
}

interface Prompting {
  readonly count: number;
  readonly marks: Readonly<Record<keyof Waits, string>>;
  readonly open: (onChunk: (chunk: Buffer) => void) => Promise<Frames>;
  readonly prompt: () => Promise<unknown>;
}

/** The agent answers at once, so that its own time is next to none. */
async function prompts({ count, marks, open, prompt }: Prompting): Promise<Waits> {
  let text = "";
  let heard: (() => void) | null = null;
  const stream = await open((chunk) => {
    text += chunk.toString("latin1");
    heard?.();
  });
  const until = (mark: string): Promise<number> =>
    new Promise((resolve) => {
      heard = () => {
        if (text.includes(mark)) resolve(performance.now());
      };
      heard();
    });
  const waits = { event: [] as number[], delta: [] as number[], end: [] as number[] };
  for (let round = 0; round < count; round += 1) {
    text = "";
    const startedAt = performance.now();
    const sent = prompt();
    for (const what of ["event", "delta", "end"] as const) waits[what].push((await until(marks[what])) - startedAt);
    await sent;
  }
  stream.close();
  // The first ones are the compiler's.
  const kept = (values: readonly number[]): readonly number[] => values.slice(count / 4);
  return { event: kept(waits.event), delta: kept(waits.delta), end: kept(waits.end) };
}

/** By the fake Claude Code on a pipe, and the same for the peer with its fake agent. */
async function promptFranca(franca: Program, count: number): Promise<Waits> {
  const session = `${franca.url}/v1/sessions/prompts`;
  await post(session, { agent: "claude", directory: process.cwd() });
  const prompt = () => post(`${session}/messages`, { message: "flood 1" });
  await prompt();
  const before = await idleAt(session);
  const marks = { event: "data: ", delta: '"type":"item.delta"', end: '"type":"turn.ended"' };
  return prompts({
    count,
    marks,
    prompt,
    open: (onChunk) => openStream(`${session}/events/sse?offset=${before}`, onChunk),
  });
}

async function promptPeer(peer: Peer, count: number): Promise<Waits> {
  const { url, headers, prompt } = await peer.open("prompts");
  // What was sent before is sent again to whoever comes: it is let pass first.
  const marks = { event: "data: ", delta: "agent_message_chunk", end: "stopReason" };
  await prompt("flood 1");
  const open = async (onChunk: (chunk: Buffer) => void): Promise<Frames> => {
    let passed = false;
    const stream = await openStream(url, (chunk) => (passed ? onChunk(chunk) : undefined), headers);
    await new Promise((resolve) => setTimeout(resolve, 200));
    passed = true;
    return stream;
  };
  return prompts({ count, marks, open, prompt: () => prompt("flood 1") });
}

const NAMES = { event: "first event", delta: "first delta", end: "turn end" } as const;

function promptRows(own: Waits, theirs: Waits | null): Result[] {
  return (["event", "delta", "end"] as const).flatMap((what) =>
    [50, 99].map((percent): Result => {
      const value = percentile(own[what], percent);
      const other = theirs === null ? null : percentile(theirs[what], percent);
      const beside = other === null ? "" : `, sandbox-agent ${ms(other)}`;
      const limit = percent === 50 ? 2 : 10;
      const least = other === null ? limit : Math.min(limit, Math.round(150 * other) / 100);
      return {
        what: `prompt → ${NAMES[what]}, p${percent}`,
        measured: `${ms(value)}${beside}`,
        target: atMost(value, least, " ms"),
      };
    }),
  );
}

/** A delta each millisecond, which says when it was said; heard through Franca, and straight from the pipe. */
async function deltas(franca: Program, count: number): Promise<Result[]> {
  const piped = await throughPipe(count);
  const alone = await throughFranca(franca, { count, session: "deltas" });
  const others = talkBeside(franca);
  const among = await throughFranca(franca, { count, session: "crowd" });
  await others.stop();
  return [
    ...aboveRows("a delta at 1,000/s, above a bare pipe", { told: alone, piped }),
    ...aboveRows(`the same with ${OTHERS} sessions talking`, { told: among, piped }),
  ];
}

interface Above {
  readonly told: readonly number[];
  readonly piped: readonly number[];
}

const aboveRows = (what: string, { told, piped }: Above): Result[] =>
  [50, 99].map((percent) => {
    const above = percentile(told, percent) - percentile(piped, percent);
    const target = atMost(above, percent === 50 ? 0.5 : 5, " ms");
    return { what: `${what}, p${percent}`, measured: ms(above), target };
  });

/** Sessions of the mock that say a few words again and again. */
function talkBeside(franca: Program): { readonly stop: () => Promise<void> } {
  let stopped = false;
  const talkers = Array.from({ length: OTHERS }, async (_, number) => {
    const session = `${franca.url}/v1/sessions/talker-${number}`;
    await post(session, { agent: "mock", directory: process.cwd() });
    while (!stopped) {
      await post(`${session}/messages/stream`, { message: "flood 20" });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  });
  const stop = async (): Promise<void> => {
    stopped = true;
    await Promise.all(talkers);
  };
  return { stop };
}

/** The system's steady clock, which all its processes share, in milliseconds. */
const steadyNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Hears pieces of a stream until it tells the whole again, which repeats every stamp. */
function openDelays(whole: string): { readonly hear: (text: string) => void; readonly heard: readonly number[] } {
  const heard: number[] = [];
  let over = false;
  return {
    heard,
    hear(text) {
      if (over) return;
      const now = steadyNow();
      const [before = ""] = text.split(whole);
      over = before.length < text.length;
      for (const [, stamp] of before.matchAll(STAMP)) heard.push(now - Number(stamp) / 1e6);
    },
  };
}

function throughPipe(count: number): Promise<number[]> {
  return new Promise((resolve) => {
    const agent = spawn(process.execPath, [process.argv[1] ?? "", "claude"], { stdio: ["pipe", "pipe", "inherit"] });
    const delays = openDelays('"type":"assistant"');
    agent.stdout.on("data", (chunk: Buffer) => {
      const text = chunk.toString("latin1");
      delays.hear(text);
      if (!text.includes('"type":"result"')) return;
      agent.kill();
      resolve(delays.heard.slice(count / 4));
    });
    const content = [{ type: "text", text: `pace ${count}` }];
    agent.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
  });
}

async function throughFranca(franca: Program, { count, session: name }: { count: number; session: string }) {
  const session = `${franca.url}/v1/sessions/${name}`;
  await post(session, { agent: "claude", directory: process.cwd() });
  await post(`${session}/messages`, { message: "flood 1" });
  const before = await idleAt(session);
  // The answer as a whole repeats what was said.
  const delays = openDelays('"role":"assistant","status":"completed"');
  await new Promise<void>((resolve, reject) => {
    openStream(`${session}/events/sse?offset=${before}`, (chunk) => {
      const text = chunk.toString("latin1");
      delays.hear(text);
      if (text.includes('"type":"turn.ended"')) resolve();
    }).then(() => post(`${session}/messages`, { message: `pace ${count}` }), reject);
  });
  return delays.heard.slice(count / 4);
}
