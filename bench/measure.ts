/** What the measurements share: medians, verdicts, and a table to print them in. */
import type { Peers } from "./peers.ts";

export interface Result {
  readonly what: string;
  readonly measured: string;
  /** Deliveries per second, where that is what was measured. */
  readonly rate?: number;
  /** What to reach, and whether it was reached; null where there is only something to see. */
  readonly target: Target | null;
}

export interface Target {
  readonly text: string;
  readonly reached: boolean;
  /** How well: 1 is just reached, 2 twice as good as asked for. */
  readonly score: number;
}

export interface Measurement {
  readonly name: string;
  /** Also part of `--quick`. */
  readonly quick: boolean;
  readonly run: (options: { readonly quick: boolean; readonly peers: Peers }) => Promise<readonly Result[]>;
}

export const atMost = (value: number, limit: number, unit = ""): Target => ({
  text: `≤ ${limit}${unit}`,
  reached: value <= limit,
  score: limit / Math.max(value, limit / 100),
});

export const atLeast = (value: number, limit: number, unit = ""): Target => ({
  text: `≥ ${limit}${unit}`,
  reached: value >= limit,
  score: value / limit,
});

export const median = (values: readonly number[]): number => percentile(values, 50);

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  // Nothing measured is no number, and reaches no target.
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** Where the middle half of the values lies. */
export const spread = (values: readonly number[]): string =>
  `${percentile(values, 25).toFixed(2)}–${percentile(values, 75).toFixed(2)}`;

export const ms = (value: number): string => `${value.toFixed(2)} ms`;
export const times = (value: number): string => `${value.toFixed(2)} ×`;
export const whole = (value: number): string => Math.round(value).toLocaleString("en");

/** The times of both sides, taken in turns: what else the machine does falls on both. */
export async function inTurns(
  rounds: number,
  [ours, theirs]: readonly [() => number | Promise<number>, () => number | Promise<number>],
): Promise<{ readonly ours: readonly number[]; readonly theirs: readonly number[] }> {
  const taken = { ours: [] as number[], theirs: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    taken.ours.push(await ours());
    taken.theirs.push(await theirs());
  }
  return taken;
}

export function timed(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

/** The rows as a table of text. */
export function asTable(rows: readonly Result[]): string {
  const cells = rows.map(({ what, measured, target }) => [
    target === null ? " " : target.reached ? "✓" : "✗",
    what,
    measured,
    target?.text ?? "",
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
