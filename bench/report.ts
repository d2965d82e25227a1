/** Runs the measurements that were asked for and tells them, with what each is to reach. */
import { converting } from "./convert.ts";
import { flooding } from "./flood.ts";
import { latency } from "./latency.ts";
import { type Measurement, tell } from "./measure.ts";
import { reconnecting } from "./reconnect.ts";
import { starting, weight } from "./start.ts";
import { translation } from "./translate.ts";

const measurements: readonly Measurement[] = [
  flooding,
  latency,
  translation,
  starting,
  weight,
  reconnecting,
  converting,
];

export async function measureAll(words: readonly string[]): Promise<void> {
  const quick = words.includes("--quick");
  const names = words.filter((word) => !word.startsWith("-"));
  const unknown = names.filter((name) => !measurements.some((one) => one.name === name));
  if (unknown.length > 0) {
    const known = measurements.map(({ name }) => name).join(", ");
    console.error(`There is no measurement called ${unknown.join(", ")}. There are: ${known}`);
    process.exitCode = 2;
    return;
  }
  const chosen = measurements.filter((one) => (names.length === 0 ? !quick || one.quick : names.includes(one.name)));
  console.log(`Node ${process.versions.node}, medians unless said otherwise`);
  let missed = 0;
  for (const { name, run } of chosen) {
    const results = await run({ quick });
    console.log(`\n${name}\n${tell(results)}`);
    missed += results.filter(({ target }) => target?.reached === false).length;
  }
  console.log(missed === 0 ? "\nAll targets are reached." : `\nTargets missed: ${missed}.`);
  if (missed > 0) process.exitCode = 1;
}
