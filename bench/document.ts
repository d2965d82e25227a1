/** Writes the measured part of docs/performance.md and its plots; what stands around it is written by hand. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "./measure.ts";
import { barChart } from "./plot.ts";

const PAGE = join("docs", "performance.md");
const START = "<!-- measured: written by npm run bench -->";
const END = "<!-- /measured -->";

export interface Measured {
  readonly name: string;
  readonly results: readonly Result[];
}

export interface Circumstances {
  readonly machine: string;
  readonly load: string;
  readonly when: Date;
}

export function writePage(all: readonly Measured[], { machine, load, when }: Circumstances): void {
  const page = readFileSync(PAGE, "utf8");
  const start = page.indexOf(START);
  const end = page.indexOf(END);
  if (start < 0 || end < start) throw new Error(`${PAGE} has no place for what was measured.`);
  const about = `${when.toISOString().slice(0, 16).replace("T", " ")} UTC, ${machine}, ${load}.`;
  const tables = all.map(({ name, results }) => `### ${name}\n\n${tableOf(results)}`);
  const measured = [START, about, ...tables, ""].join("\n\n");
  writeFileSync(PAGE, page.slice(0, start) + measured + page.slice(end));
  writePlots(all.flatMap(({ results }) => results));
}

function tableOf(results: readonly Result[]): string {
  const rows = results.map(({ what, measured, target }) => {
    const verdict = target === null ? "" : `${target.text} ${target.reached ? "✓" : "✗"}`;
    return `| ${what} | ${measured} | ${verdict} |`;
  });
  return ["| what | measured | target |", "|---|---|---|", ...rows].join("\n");
}

/** Beyond this a bar only says "far better". */
const HIGHEST_SCORE = 4;
/** What is longer says in the table what it is compared with. */
const LONGEST_LABEL = 56;

function writePlots(results: readonly Result[]): void {
  for (const clients of ["1 client", "20 clients"]) {
    const rated = results.filter(({ what, rate }) => rate !== undefined && what.endsWith(`, ${clients}`));
    const bars = rated.map(({ what, rate = 0, target }) => ({
      label: what.slice(0, -clients.length - 2),
      value: rate / 1000,
      text: `${(rate / 1000).toFixed(0)} k/s`,
      good: target?.reached ?? null,
    }));
    const file = join("docs", `performance-flood-${clients.split(" ")[0]}.svg`);
    writeFileSync(file, barChart({ title: `20,000 deltas to ${clients}, deliveries per second`, bars, line: null }));
  }
  const bars = results.flatMap(({ what, target }) =>
    target === null
      ? []
      : [
          {
            label: what.length > LONGEST_LABEL ? (what.split(", beside")[0] ?? what) : what,
            value: Math.min(target.score, HIGHEST_SCORE),
            text: `${target.score.toFixed(2)} × as good as ${target.text}`,
            good: target.reached,
          },
        ],
  );
  writeFileSync(
    join("docs", "performance-targets.svg"),
    barChart({ title: "Each row beside its target", bars, line: 1 }),
  );
}
