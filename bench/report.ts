/** Runs the measurements that were asked for and tells them as ratios. */
import { measureConvert } from "./convert.ts";
import { type FloodResult, type FloodRun, flood } from "./flood.ts";

export async function measureAll(words: readonly string[]): Promise<void> {
  const quick = words.includes("--quick");
  const names = words.filter((word) => !word.startsWith("-"));
  const unknown = names.filter((name) => name !== "flood" && name !== "convert");
  if (unknown.length > 0) {
    console.error(`There is no measurement called ${unknown.join(", ")}. There are: flood, convert`);
    process.exitCode = 2;
    return;
  }
  if (names.length === 0 || names.includes("flood")) await measureFlood({ quick });
  if (names.includes("convert") || (names.length === 0 && !quick)) {
    if (!(await measureConvert())) process.exitCode = 1;
  }
}

async function measureFlood({ quick }: { readonly quick: boolean }): Promise<void> {
  const rounds = quick ? 9 : 21;
  const rows: string[][] = [["", "deliveries/s", "best", "of the relay's", "lost", "CPU s", "peak MiB"]];
  let good = true;
  for (const { clients, target } of [
    { clients: 1, target: 1 },
    { clients: 20, target: 0.5 },
  ]) {
    const result = await flood({ deltas: 20_000, clients, rounds });
    rows.push(...tell(result, { clients, target }));
    for (const runs of [result.inside, result.piped]) {
      good &&= ratioOf(runs, result.relay) >= target && runs.every(({ lost }) => lost === 0);
    }
  }
  console.log(`flood of 20,000 deltas, medians of ${rounds} rounds, Node ${process.versions.node}\n`);
  console.log(rows.map((row) => row.map((cell, column) => cell.padEnd(column === 0 ? 38 : 15)).join("")).join("\n"));
  console.log(good ? "\nAll targets are reached." : "\nSome target is missed.");
  if (!good) process.exitCode = 1;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** Round by round, then the middle: both sides of a ratio had the same machine. */
const ratioOf = (franca: readonly FloodRun[], relay: readonly FloodRun[]): number =>
  median(franca.map(({ rate }, round) => rate / (relay[round]?.rate ?? rate)));

function tell(
  { relay, inside, piped }: FloodResult,
  { clients, target }: { clients: number; target: number },
): string[][] {
  const name = `${clients} client${clients > 1 ? "s" : ""}`;
  const verdict = (runs: readonly FloodRun[]): string => `${ratioOf(runs, relay).toFixed(2)} (≥ ${target})`;
  return [
    line(`bare relay, ${name}`, relay, ""),
    line(`Franca, ${name}, agent on a pipe`, piped, verdict(piped)),
    line(`Franca, ${name}, agent inside`, inside, verdict(inside)),
  ];
}

const whole = (value: number): string => Math.round(value).toLocaleString("en");

function line(name: string, runs: readonly FloodRun[], ratio: string): string[] {
  const known = (pick: (run: FloodRun) => number | null): string => {
    const values = runs.map(pick).filter((value) => value !== null);
    return values.length === 0 ? "?" : median(values).toFixed(2);
  };
  return [
    name,
    whole(median(runs.map(({ rate }) => rate))),
    // What the machine allows when nothing else wants it; the verdict is by the middle all the same.
    whole(Math.max(...runs.map(({ rate }) => rate))),
    ratio,
    String(runs.reduce((sum, { lost }) => sum + lost, 0)),
    known(({ cpuSeconds }) => cpuSeconds),
    known(({ peakMiB }) => peakMiB),
  ];
}
