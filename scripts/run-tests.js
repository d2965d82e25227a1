/** Runs vitest, names what was skipped, and closes with a plain count, so that nothing is left out in silence. */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root, tool, tryRun } from "./ensure.js";

/** Returns the exit code. `name` is the name of the report in test-output/. */
export function runTests(args, { name, env = {} }) {
  const folder = join(root, "test-output");
  const report = join(folder, `${name}.json`);
  mkdirSync(folder, { recursive: true });
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const code = tryRun(tool("vitest"), ["run", ...reporters, ...args], { env });
  if (!existsSync(report)) {
    console.log("0 passed, 0 failed: no test was run");
    return code === 0 ? 1 : code;
  }
  summarise(JSON.parse(readFileSync(report, "utf8")));
  return code;
}

function summarise({ testResults, numPassedTests, numFailedTests }) {
  const skipped = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "pending" || status === "skipped" || status === "todo");
  for (const suite of new Set(skipped.map(({ ancestorTitles, title }) => ancestorTitles[0] || title))) {
    console.log(`skipped: ${suite}`);
  }
  if (skipped.length > 0) console.log(`${skipped.length} skipped`);
  console.log(`${numPassedTests} passed, ${numFailedTests} failed`);
}
