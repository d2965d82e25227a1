/** What the measurements share: medians, verdicts, and a table to tell them in. */

export interface Result {
  readonly what: string;
  readonly measured: string;
  /** What to reach, and whether it was reached; null where there is only something to see. */
  readonly target: { readonly text: string; readonly reached: boolean } | null;
}

export interface Measurement {
  readonly name: string;
  /** Also part of `--quick`. */
  readonly quick: boolean;
  readonly run: (options: { readonly quick: boolean }) => Promise<readonly Result[]>;
}

export const atMost = (value: number, limit: number, unit = ""): NonNullable<Result["target"]> => ({
  text: `≤ ${limit}${unit}`,
  reached: value <= limit,
});

export const atLeast = (value: number, limit: number, unit = ""): NonNullable<Result["target"]> => ({
  text: `≥ ${limit}${unit}`,
  reached: value >= limit,
});

export const median = (values: readonly number[]): number => percentile(values, 50);

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
}

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

export function tell(rows: readonly Result[]): string {
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
