/** `npm run fuzz [-- --minutes N] [--seed S]`: the properties of test/fuzz with many values, from seed to seed. */
import { parseArgs } from "node:util";
import { ensureBuilt, ensureInstalled, tool, tryRun } from "./ensure.js";

const RUNS = "3000";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "5" }, seed: { type: "string" }, runs: { type: "string" } },
});
ensureInstalled();
ensureBuilt();
const until = Date.now() + Number(values.minutes) * 60_000;
let seed = Number(values.seed ?? Date.now() % 1_000_000);
let code = 0;
do {
  console.log(`seed ${seed}`);
  const env = { FUZZ_SEED: String(seed), FUZZ_RUNS: values.runs ?? RUNS };
  code = tryRun(tool("vitest"), ["run", "--config", "vitest.slow.config.ts", "--testTimeout", "600000", "test/fuzz"], {
    env,
  });
  if (code !== 0) console.log(`again: npm run fuzz -- --seed ${seed} --minutes 0`);
  seed += 1;
} while (code === 0 && Date.now() < until);
process.exitCode = code;
