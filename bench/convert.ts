/** A long recording through `franca convert`: what it needs of memory does not grow with the recording. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { atMost, type Measurement, type Result, times } from "./measure.ts";
import { peakMemory } from "./programs.ts";

interface ConvertRun {
  readonly megabytes: number;
  readonly seconds: number;
  readonly peakMiB: number | null;
}

const MEGABYTE = 1_000_000;
const TURN_DELTAS = 20_000;

/** Turns of the mock, as it says them, until there are so many bytes. */
function* recording(megabytes: number): Generator<string> {
  yield line({
    type: "ready",
    session: "mock-bench",
    version: "1",
    model: "m",
    directory: "/",
    permission_mode: "default",
    tools: [],
  });
  for (let turn = 1, bytes = 0; bytes < megabytes * MEGABYTE; turn += 1) {
    const id = `p${turn}.m1.text`;
    yield line({ type: "block", id, message: `p${turn}.m1`, kind: "text" });
    for (let index = 0; index < TURN_DELTAS; index += 500) {
      let chunk = "";
      for (let delta = index; delta < index + 500; delta += 1) chunk += line({ type: "delta", id, text: `#${delta} ` });
      bytes += chunk.length;
      yield chunk;
    }
    yield line({ type: "end", reason: "completed" });
  }
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

async function convertMuch(megabytes: number): Promise<ConvertRun> {
  const args = [join(process.cwd(), "bin", "franca.js"), "convert", "--from", "mock", "--to", "opencode", "-"];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  child.stdout.resume();
  const startedAt = performance.now();
  let peakMiB: number | null = null;
  for (const chunk of recording(megabytes)) {
    if (child.stdin.write(chunk)) continue;
    await once(child.stdin, "drain");
    peakMiB = peakMemory(child.pid ?? 0) ?? peakMiB;
  }
  child.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`franca convert ended with ${code}`);
  return { megabytes, seconds: (performance.now() - startedAt) / 1000, peakMiB };
}

/** Ten times the recording may cost half as much memory again, for what the collector leaves lying about. */
const GROWTH = 1.5;

export const converting: Measurement = {
  name: "convert",
  quick: false,
  async run() {
    const small = await convertMuch(20);
    const large = await convertMuch(200);
    const rows: Result[] = [small, large].map(({ megabytes, seconds, peakMiB }) => ({
      what: `convert ${megabytes} MB`,
      measured: `${(megabytes / seconds).toFixed(1)} MB/s, peak ${peakMiB?.toFixed(0) ?? "?"} MiB`,
      target: null,
    }));
    if (small.peakMiB === null || large.peakMiB === null) return rows;
    const growth = large.peakMiB / small.peakMiB;
    return [
      ...rows,
      { what: "memory for ten times the recording", measured: times(growth), target: atMost(growth, GROWTH) },
    ];
  },
};
