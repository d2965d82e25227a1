/** What a daemon holds while it works, sampled, and whether that grows. Pure but for the reading of one sample. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { processesIn } from "./aftermath.ts";
import { BALLAST, type DaemonHost } from "./daemon.ts";

export const measures = ["memory", "files", "processes", "disk", "diskPerEvent"] as const;
export type Measure = (typeof measures)[number];

/** At a time, in seconds since the start. */
export type Sample = Readonly<Record<Measure, number>> & { readonly at: number };

export const labels: Readonly<Record<Measure, string>> = {
  memory: "memory of the daemon (RSS), MiB",
  files: "open files",
  processes: "processes (daemon, guard, agents)",
  disk: "data folder, MiB",
  diskPerEvent: "disk per stored event, bytes",
};

/** How much each may grow over the second half: a tenth of its median, or this where that is more. */
const noise: Readonly<Record<Measure, number | null>> = {
  memory: 24,
  files: 10,
  processes: 8,
  disk: 8,
  // Shown only: it follows the length of the sessions that happen to live.
  diskPerEvent: null,
};
const SHARE = 0.1;
const MEBIBYTE = 1024 * 1024;

/** Null while the daemon is down. */
export function takeSample(host: DaemonHost, { at, events }: { at: number; events: number }): Sample | null {
  const resources = host.isRunning() ? host.resources() : null;
  if (resources === null) return null;
  const ours = readdirSync(host.data).filter((name) => name !== BALLAST);
  const bytes = ours.reduce((sum, name) => sum + sizeOf(join(host.data, name)), 0);
  return {
    at,
    memory: resources.memory,
    files: resources.files,
    processes: processesIn(host.folder).length,
    disk: bytes / MEBIBYTE,
    diskPerEvent: events === 0 ? 0 : bytes / events,
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

export interface Trend {
  readonly measure: Measure;
  readonly median: number;
  readonly highest: number;
  /** From the beginning to the end of the samples, on the line through them. */
  readonly growth: number;
  /** Null where growth is not judged. */
  readonly allowed: number | null;
}

/**
 * The line is Theil and Sen's: the median of the slopes between all pairs of samples, so that single peaks do not
 * bend it.
 */
export function trendOf(samples: readonly Sample[], measure: Measure): Trend {
  const slopes = samples.flatMap((from, index) =>
    samples.slice(index + 1).map((to) => (to[measure] - from[measure]) / (to.at - from.at)),
  );
  const seconds = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  const values = samples.map((sample) => sample[measure]);
  const median = medianOf(values);
  const least = noise[measure];
  return {
    measure,
    median,
    highest: Math.max(0, ...values),
    growth: medianOf(slopes) * seconds,
    allowed: least === null ? null : Math.max(least, median * SHARE),
  };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle] ?? 0;
  return ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

export function printTrends(trends: readonly Trend[]): void {
  const row = (cells: readonly string[]): void =>
    console.log(
      `  ${(cells[0] ?? "").padEnd(36)}${cells
        .slice(1)
        .map((cell) => cell.padStart(10))
        .join("")}`,
    );
  row(["over the second half", "median", "highest", "growth", "allowed"]);
  for (const { measure, median, highest, growth, allowed } of trends) {
    row([labels[measure], ...[median, highest, growth, allowed].map((value) => value?.toFixed(1) ?? "-")]);
  }
}
