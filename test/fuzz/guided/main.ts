/**
 * `npm run fuzz`: one target for some time, or as many executions as named. What it finds is printed as a literal for a
 * test, made as small as possible; the same seed finds the same.
 */
import { parseArgs } from "node:util";
import { catchRejections } from "./attempt.ts";
import { keptInputs, saveInputs } from "./corpus.ts";
import { openCoverage } from "./coverage.ts";
import { type Finding, search } from "./search.ts";

const { values } = parseArgs({
  options: {
    list: { type: "boolean", default: false },
    target: { type: "string" },
    seconds: { type: "string", default: "60" },
    executions: { type: "string" },
    seed: { type: "string", default: "1" },
    blind: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});

const coverage = openCoverage(import.meta.url);
// Only now, so that V8 counts the blocks of everything that they import.
const { targetNames, openTarget } = await import("./targets.ts");

if (values.list) console.log((await targetNames()).join("\n"));
else process.exitCode = await fuzz(values.target ?? "");

async function fuzz(name: string): Promise<number> {
  catchRejections();
  const opened = await openTarget(name);
  const recorded = opened.seeds();
  const kept = keptInputs(name);
  const target = { ...opened, seeds: () => [...recorded, ...kept] };
  const until = performance.now() + Number(values.seconds) * 1_000;
  const most = Number(values.executions ?? Number.POSITIVE_INFINITY);
  const { executions, blocks, corpus, findings } = await search({
    target,
    coverage,
    seed: Number(values.seed),
    guided: !values.blind,
    goesOn: (done) => done < most && (values.executions !== undefined || performance.now() < until),
    onFinding: show,
  });
  const row = [executions, `${blocks.from} → ${blocks.to}`, corpus.length, findings.length];
  console.log([name.padEnd(24), ...row.map((cell) => String(cell).padStart(16))].join(""));
  if (values.save)
    saveInputs(
      name,
      corpus.filter((input) => !recorded.some((seed) => seed.equals(input))),
    );
  await target.close?.();
  return findings.length === 0 ? 0 : 1;
}

function show({ target, seed, execution, error, input }: Finding): void {
  console.log(`\n${target}, seed ${seed}, execution ${execution}: ${error.stack?.split("\n").slice(0, 6).join("\n")}`);
  if (error.cause instanceof Error) console.log(`because: ${error.cause.stack?.split("\n").slice(0, 6).join("\n")}`);
  console.log(`${literalOf(input)}\n`);
}

/** As it is written in a test. */
function literalOf(input: Buffer): string {
  const text = input.toString("utf8");
  if (Buffer.from(text).equals(input)) return JSON.stringify(text);
  return `Buffer.from("${input.toString("base64")}", "base64")`;
}
