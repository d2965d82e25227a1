/** Runs the measurements that were asked for, prints them with their targets, and writes docs/performance.md. */
import { cpus, loadavg } from "node:os";
import { converting } from "./convert.ts";
import { discovering } from "./discover.ts";
import { writePage } from "./document.ts";
import { flooding } from "./flood.ts";
import { hosts } from "./hosts.ts";
import { inspector } from "./inspector.ts";
import { latency } from "./latency.ts";
import { asTable, type Measurement, type Result } from "./measure.ts";
import { findPeers } from "./peers.ts";
import { reconnecting } from "./reconnect.ts";
import { stalls } from "./stall.ts";
import { running, starting, weight } from "./start.ts";
import { translation } from "./translate.ts";

const measurements: readonly Measurement[] = [
  flooding,
  latency,
  stalls,
  translation,
  starting,
  running,
  weight,
  reconnecting,
  converting,
  hosts,
  discovering,
  inspector,
];

const OPTIONS = ["--quick", "--install-peers", "--write"];

export async function measureAll(words: readonly string[]): Promise<void> {
  const strange = words.filter((word) => word.startsWith("-") && !OPTIONS.includes(word));
  if (strange.length > 0) {
    console.error(`usage: npm run bench -- [${OPTIONS.join("] [")}] [name …]; docs/performance.md says more.`);
    process.exitCode = 2;
    return;
  }
  const quick = words.includes("--quick");
  const names = words.filter((word) => !word.startsWith("-"));
  const unknown = names.filter((name) => !measurements.some((one) => one.name === name));
  if (unknown.length > 0) {
    const known = measurements.map(({ name }) => name).join(", ");
    console.error(`There is no measurement called ${unknown.join(", ")}. There are: ${known}`);
    process.exitCode = 2;
    return;
  }
  const peers = findPeers({ install: words.includes("--install-peers") });
  const chosen = measurements.filter((one) => (names.length === 0 ? !quick || one.quick : names.includes(one.name)));
  const machine = `Node ${process.versions.node}, ${cpus().length} cores`;
  console.log(`${machine}, medians unless said otherwise`);
  const loads = [loadavg()[0] ?? 0];
  const all: { readonly name: string; readonly results: readonly Result[] }[] = [];
  for (const { name, run } of chosen) {
    const results = await run({ quick, peers });
    console.log(`\n${name}\n${asTable(results)}`);
    all.push({ name, results });
    loads.push(loadavg()[0] ?? 0);
  }
  const missed = all.flatMap(({ results }) => results).filter(({ target }) => target?.reached === false).length;
  const load = `load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`;
  console.log(`\n${missed === 0 ? "All targets are reached." : `Targets missed: ${missed}.`} (${load})`);
  if (missed > 0) process.exitCode = 1;
  const isWhole = names.length === 0 && !quick;
  if (isWhole || words.includes("--write")) writePage(all, { machine, load, when: new Date() });
}
