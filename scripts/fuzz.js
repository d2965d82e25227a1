/**
 * `npm run fuzz [-- --minutes N] [--target NAME] [--seed S]`: searches each target for its share of the time, guided by
 * coverage. `--target adapter,sse` takes all whose names begin so; `--executions N` stops after so many in place of a
 * time; `--save` keeps what reached more than the recordings; `--properties`: the properties of test/fuzz instead.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { ensureBuilt, ensureInstalled, root, tool, tryRun } from "./ensure.js";

const RUNS = "3000";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    target: { type: "string", default: "" },
    seed: { type: "string" },
    executions: { type: "string" },
    blind: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
    properties: { type: "boolean", default: false },
    runs: { type: "string" },
  },
});
ensureInstalled();
const first = Number(values.seed ?? Date.now() % 1_000_000);
process.exitCode = values.properties ? tryProperties() : await searchTargets();

async function searchTargets() {
  const { bundle } = await import("./bundle.js");
  process.chdir(root);
  const program = ["--enable-source-maps", await bundle("test/fuzz/guided/main.ts")];
  const { stdout } = spawnSync(process.execPath, [...program, "--list"], { encoding: "utf8" });
  const wanted = values.target.split(",");
  const targets = stdout.split("\n").filter((name) => name !== "" && wanted.some((one) => name.startsWith(one)));
  if (targets.length === 0) {
    console.error(`There is no target ${values.target}: choose one of\n${stdout}`);
    return 1;
  }
  const seconds = String((Number(values.minutes) * 60) / targets.length);
  const more = [
    ...(values.executions === undefined ? [] : ["--executions", values.executions]),
    ...(values.blind ? ["--blind"] : []),
    ...(values.save ? ["--save"] : []),
  ];
  console.log(`seed ${first}`);
  console.log(
    ["target".padEnd(24), ...["executions", "blocks", "corpus", "findings"].map((head) => head.padStart(16))].join(""),
  );
  const broken = targets.filter(
    (name) =>
      tryRun(process.execPath, [
        ...program,
        "--target",
        name,
        "--seed",
        String(first),
        "--seconds",
        seconds,
        ...more,
      ]) !== 0,
  );
  for (const name of broken) console.log(`again: npm run fuzz -- --target ${name} --seed ${first}`);
  return broken.length === 0 ? 0 : 1;
}

function tryProperties() {
  ensureBuilt();
  const until = Date.now() + Number(values.minutes) * 60_000;
  const args = ["run", "--config", "vitest.slow.config.ts", "--testTimeout", "600000", "test/fuzz"];
  let code = 0;
  let seed = first;
  do {
    console.log(`seed ${seed}`);
    code = tryRun(tool("vitest"), args, { env: { FUZZ_SEED: String(seed), FUZZ_RUNS: values.runs ?? RUNS } });
    if (code !== 0) console.log(`again: npm run fuzz -- --properties --seed ${seed} --minutes 0`);
    seed += 1;
  } while (code === 0 && Date.now() < until);
  return code;
}
