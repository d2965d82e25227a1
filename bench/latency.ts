/** How long a person waits: from a prompt to the first word and to the end, and for each word that is said. */
import { spawn } from "node:child_process";
import { idleAt, openStream, post } from "./http.ts";
import { atMost, type Measurement, median, ms, percentile, type Result } from "./measure.ts";
import { type Program, startFranca } from "./programs.ts";

const STAMP = /@(\d+)@/g;

export const latency: Measurement = {
  name: "latency",
  quick: true,
  async run({ quick }) {
    const franca = await startFranca();
    try {
      return [...(await prompts(franca, quick ? 200 : 1_000)), ...(await deltas(franca, quick ? 2_000 : 10_000))];
    } finally {
      await franca.stop();
    }
  },
};

/** The mock answers at once, so that its own time is next to none. */
async function prompts(franca: Program, count: number): Promise<Result[]> {
  const session = `${franca.url}/v1/sessions/prompts`;
  await post(session, { agent: "mock", directory: process.cwd() });
  await post(`${session}/messages`, { message: "echo hello" });
  const before = await idleAt(session);
  let text = "";
  let heard: (() => void) | null = null;
  const stream = await openStream(`${session}/events/sse?offset=${before}`, (chunk) => {
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
  const first: number[] = [];
  const end: number[] = [];
  for (let round = 0; round < count; round += 1) {
    text = "";
    const startedAt = performance.now();
    const sent = post(`${session}/messages`, { message: "echo hello" });
    first.push((await until('"type":"item.delta"')) - startedAt);
    end.push((await until('"type":"turn.ended"')) - startedAt);
    await sent;
  }
  stream.close();
  // The first ones are the compiler's.
  const kept = [first.slice(count / 4), end.slice(count / 4)] as const;
  return [...tell("prompt → first delta", kept[0]), ...tell("prompt → turn end", kept[1])];
}

const tell = (what: string, values: readonly number[]): Result[] => [
  { what: `${what}, p50`, measured: ms(median(values)), target: atMost(median(values), 2, " ms") },
  { what: `${what}, p99`, measured: ms(percentile(values, 99)), target: atMost(percentile(values, 99), 10, " ms") },
];

/** A delta each millisecond, which says when it was said; heard through Franca, and straight from the pipe. */
async function deltas(franca: Program, count: number): Promise<Result[]> {
  const piped = await throughPipe(count);
  const told = await throughFranca(franca, count);
  const p50 = median(told) - median(piped);
  const p99 = percentile(told, 99) - percentile(piped, 99);
  return [
    { what: "a delta at 1,000/s, above a bare pipe, p50", measured: ms(p50), target: atMost(p50, 0.5, " ms") },
    { what: "a delta at 1,000/s, above a bare pipe, p99", measured: ms(p99), target: atMost(p99, 5, " ms") },
  ];
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
    const agent = spawn(process.execPath, [process.argv[1] ?? "", "agent"], { stdio: ["pipe", "pipe", "inherit"] });
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

async function throughFranca(franca: Program, count: number): Promise<number[]> {
  const session = `${franca.url}/v1/sessions/deltas`;
  await post(session, { agent: "claude", directory: process.cwd() });
  await post(`${session}/messages`, { message: "flood 1" });
  const before = await idleAt(session);
  // The prompt is an item too, and complete at once; the answer is the assistant's.
  const delays = openDelays('"type":"item.completed","data":{"item":{"item_id":"deltas:i4"');
  await new Promise<void>((resolve, reject) => {
    openStream(`${session}/events/sse?offset=${before}`, (chunk) => {
      const text = chunk.toString("latin1");
      delays.hear(text);
      if (text.includes('"type":"turn.ended"')) resolve();
    }).then(() => post(`${session}/messages`, { message: `pace ${count}` }), reject);
  });
  return delays.heard.slice(count / 4);
}
