/**
 * `npm run soak [-- --minutes 20] [--sessions 50] [--seed 1]`: a real daemon with many sessions of fake agents that
 * misbehave, and mixed faults, for a long time. What the daemon holds is sampled all the while. Exits with 1 when a
 * promise was broken or something has grown.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect } from "../../src/sdk/index.ts";
import { killIfAlive } from "../support/processes.ts";
import { leave, processesIn } from "./aftermath.ts";
import { runAs } from "./agents/play-agent.ts";
import { promises, type Violation } from "./checks.ts";
import { type DaemonHost, openHost } from "./daemon.ts";
import { addFigures, describeFigures, type Figures, noFigures } from "./figures.ts";
import { randomFrom } from "./random.ts";
import { measures, printTrends, type Sample, type Trend, takeSample, trendOf } from "./samples.ts";
import { openPlace, type Place, type Soak } from "./soak-session.ts";

const MINUTE_MS = 60_000;
const SAMPLE_MS = 5_000;
const FAULT_MS = { from: 10_000, to: 30_000 };
/** For how long the disk is slow, full or read-only. */
const DISK_FAULT_MS = 1_500;
const SLOW_COMMIT_MS = 30;
const DISK_MEBIBYTES = 1_024;
/** Of the whole time; what a daemon needs to become warm is not measured. */
const RESTARTS_UNTIL = 0.4;
/** A shorter soak shows broken promises, but nothing about growth. */
const TREND_MINUTES = 5;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "20" },
      sessions: { type: "string", default: "50" },
      seed: { type: "string", default: "1" },
    },
  });
  const [minutes, sessions, seed] = [values.minutes, values.sessions, values.seed].map(Number);
  if (!(minutes && minutes > 0 && sessions && sessions > 0) || seed === undefined || !Number.isInteger(seed)) {
    console.error("npm run soak -- --minutes 20 --sessions 50 --seed 1");
    return 2;
  }
  const host = openHost({ bundle: process.argv[1] ?? "", project: process.cwd(), diskMebibytes: DISK_MEBIBYTES });
  try {
    return await soak(host, { minutes, sessions, seed });
  } finally {
    if (host.isRunning()) await host.stop("SIGKILL").catch(() => null);
    for (const pid of processesIn(host.folder)) killIfAlive(pid);
    host.remove();
  }
}

interface Extent {
  readonly minutes: number;
  readonly sessions: number;
  readonly seed: number;
}

async function soak(host: DaemonHost, { minutes, sessions, seed }: Extent): Promise<number> {
  await host.start();
  const baseline = host.resources();
  const began = Date.now();
  const passed = (): number => (Date.now() - began) / (minutes * MINUTE_MS);
  const found: Violation[] = [];
  const work: Soak = {
    host,
    seed,
    figures: noFigures(),
    isOver: () => passed() >= 1,
    broken: (...more) => {
      found.push(...more);
      for (const { promise, what } of more) console.log(`BROKEN ${promise}: ${what}`);
    },
  };
  const places = Array.from({ length: sessions }, (_, index) => openPlace(work, index));
  const sampling = sample(work, places, began);
  await disturb(work, passed).catch((error: unknown) => work.broken({ promise: "hung", what: String(error) }));
  const samples = await sampling;
  await Promise.all(places.map(({ done }) => done));
  const client = () => connect({ url: host.url() });
  work.broken(...(await leave({ host, client, names: [], baseline }, true)));
  // The second half is the life of one daemon.
  const half = samples.filter(({ at }) => at * 1000 >= (minutes * MINUTE_MS) / 2);
  const trends = measures.map((measure) => trendOf(half, measure));
  return report({ minutes, sessions, seed, figures: work.figures, found, trends, samples });
}

/** Restarts in the first half, so that the second one shows what grows; a bad disk now and then in both. */
async function disturb({ host, seed, figures, isOver }: Soak, passed: () => number): Promise<void> {
  const random = randomFrom(seed);
  while (!isOver()) {
    await after(random.between(FAULT_MS.from, FAULT_MS.to));
    if (isOver()) return;
    if (passed() < RESTARTS_UNTIL && random.chance(0.5)) {
      const signal = random.pick(["SIGKILL", "SIGKILL", "SIGTERM"] as const);
      addFigures(figures, signal === "SIGKILL" ? { daemonsKilled: 1 } : { daemonsStopped: 1 });
      await host.stop(signal);
      await host.start();
      continue;
    }
    const state = random.pick(["full", "read-only", "slow"] as const);
    if (state === "full") host.fillDisk();
    else host.setFaults({ commitDelayMs: state === "slow" ? SLOW_COMMIT_MS : 0, readOnly: state === "read-only" });
    await after(DISK_FAULT_MS);
    host.freeDisk();
    host.setFaults({ commitDelayMs: 0, readOnly: false });
  }
}

async function sample({ host, isOver, figures }: Soak, places: readonly Place[], began: number) {
  const samples: Sample[] = [];
  let minute = 0;
  while (!isOver()) {
    await after(SAMPLE_MS);
    const at = (Date.now() - began) / 1000;
    const taken = takeSample(host, { at, events: places.reduce((sum, { events }) => sum + events(), 0) });
    if (taken === null || isOver()) continue;
    samples.push(taken);
    if (Math.floor(at / 60) === minute) continue;
    minute = Math.floor(at / 60);
    const { memory, files, processes, disk } = taken;
    const held = `${memory.toFixed(0)} MiB, ${files} files, ${processes} processes, ${disk.toFixed(1)} MiB on disk`;
    console.log(`${minute} min: ${held}, ${figures.prompts} prompts`);
  }
  return samples;
}

interface Result extends Extent {
  readonly figures: Figures;
  readonly found: readonly Violation[];
  readonly trends: readonly Trend[];
  readonly samples: readonly Sample[];
}

function report(result: Result): number {
  const { minutes, figures, found, trends } = result;
  console.log("");
  for (const promise of promises) {
    console.log(`${String(found.filter((one) => one.promise === promise).length).padStart(6)}  ${promise}`);
  }
  console.log(describeFigures(figures));
  printTrends(trends);
  const isJudged = minutes >= TREND_MINUTES;
  if (!isJudged) console.log(`  (growth is judged from ${TREND_MINUTES} minutes on)`);
  const grown = isJudged ? trends.filter(({ growth, allowed }) => allowed !== null && growth > allowed) : [];
  for (const { measure } of grown) console.log(`  ${measure} has grown`);
  const failed = found.length + grown.length;
  console.log(
    `${figures.sessions} sessions in ${minutes} minutes, ${failed === 0 ? "all held" : `${failed} failures`}`,
  );
  mkdirSync("test-output", { recursive: true });
  const counts = { numPassedTests: figures.sessions, numFailedTests: failed, numPendingTests: 0, testResults: [] };
  writeFileSync(join("test-output", "soak.json"), JSON.stringify({ ...counts, ...result }));
  return failed === 0 ? 0 : 1;
}

await runAs(process.argv.slice(2), main);
