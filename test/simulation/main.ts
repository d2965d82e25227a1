/** `npm run simulate [-- --seeds N --from S | --seed S]`: simulates plans, and shows a smallest one that breaks. */
import { parseArgs } from "node:util";
import { bodyOf } from "./clients.ts";
import { drawPlan, type Plan, shrink } from "./plan.ts";
import { type Simulated, simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    "until-broken": { type: "boolean", default: false },
    "no-shrink": { type: "boolean", default: false },
    /** Prints the logs of the smallest plan. */
    show: { type: "boolean", default: false },
  },
});
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

let unhandled: unknown = null;
process.on("unhandledRejection", (error) => {
  unhandled = error;
});

async function run(plan: Plan): Promise<Simulated> {
  unhandled = null;
  const simulated = await simulate(plan);
  if (unhandled === null) return simulated;
  const what = unhandled instanceof Error ? (unhandled.stack ?? unhandled.message) : String(unhandled);
  return { ...simulated, violations: [...simulated.violations, { promise: "unhandled rejection", what }] };
}

const began = performance.now();
const broken: Plan[] = [];
let lives = 0;
let events = 0;
let tried = 0;
for (let seed = from; seed < from + count; seed += 1) {
  const plan = drawPlan(seed);
  const simulated = await run(plan);
  tried += 1;
  lives += simulated.lives;
  events += simulated.events;
  if (simulated.violations.length === 0) continue;
  broken.push(plan);
  console.log(`seed ${seed}: BROKEN`);
  for (const { promise, what } of simulated.violations.slice(0, values["until-broken"] ? 100 : 5))
    console.log(`  ${promise}: ${what}`);
  if (values["until-broken"]) break;
}
const seconds = (performance.now() - began) / 1_000;
const rate = Math.round((tried / seconds) * 60);
console.log(`${lives} lives of the daemon, ${events} events, ${rate} seeds a minute`);
console.log(`${tried - broken.length} passed, ${broken.length} failed: seeds from ${from}, ${seconds.toFixed(1)} s`);
const [first] = broken;
if (first !== undefined && !values["no-shrink"]) {
  const smallest = await shrink(first, async (plan) => (await run(plan)).violations.length > 0);
  console.log(`smallest plan that still breaks it:\n${JSON.stringify(smallest, null, 1)}`);
  const { violations, logs } = await run(smallest);
  for (const { promise, what } of violations) console.log(`  ${promise}: ${what}`);
  if (values.show) for (const events of logs.values()) for (const event of events) console.log(bodyOf(event));
  console.log(`again: npm run simulate -- --seed ${first.seed}`);
}
process.exitCode = broken.length === 0 ? 0 : 1;
