/**
 * Runs vitest, names what was skipped and what failed, and closes with a plain count, so that nothing is left out in
 * silence. In CI, the files of a few failed tests are run once more, alone: a test that then passes is named as
 * unsteady in the summary, and is a bug to fix.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { root, tool, tryRun } from "./ensure.js";

/** More failed files than this are no accident of timing: they are not run again. */
const maxFilesAgain = 4;

/** Returns the exit code. `name` is the name of the report in test-output/, `config` vitest's own file. */
export function runTests(args, { name, config = "vitest.config.ts", env = {} }) {
  const folder = join(root, "test-output");
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, `${name}-again.json`), { force: true });
  const first = vitest(args, { report: join(folder, `${name}.json`), config, env });
  if (first.results === undefined) {
    console.log("0 passed, 0 failed: no test was run");
    return first.code === 0 ? 1 : first.code;
  }
  summarise(first.results);
  const files = first.results.testResults.filter(({ status }) => status === "failed").map((result) => result.name);
  if (first.code === 0 || process.env.CI !== "true" || files.length === 0 || files.length > maxFilesAgain) {
    return first.code;
  }
  console.log(`\nonce more, alone: ${files.map((file) => relative(root, file)).join(", ")}`);
  const second = vitest(["--no-file-parallelism", ...files], {
    report: join(folder, `${name}-again.json`),
    config,
    env,
  });
  if (second.results !== undefined) summarise(second.results);
  if (second.code !== 0) return second.code;
  for (const title of failedTests(first.results)) console.log(`unsteady: ${title}`);
  return 0;
}

function vitest(args, { report, config, env }) {
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const code = tryRun(tool("vitest"), ["run", "--config", config, ...reporters, ...args], { env });
  return { code, results: existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : undefined };
}

function summarise(results) {
  const { numPassedTests, numFailedTests } = results;
  const skipped = assertions(results).filter(({ status }) => ["pending", "skipped", "todo"].includes(status));
  for (const suite of new Set(skipped.map(({ ancestorTitles, title }) => ancestorTitles[0] || title))) {
    console.log(`skipped: ${suite}`);
  }
  if (skipped.length > 0) console.log(`${skipped.length} skipped`);
  for (const title of failedTests(results)) console.log(`failed: ${title}`);
  console.log(`${numPassedTests} passed, ${numFailedTests} failed`);
}

/** One line of counts for a suite that was run, and a line for each test that failed in its first or only run. */
export function printCounts(name) {
  const report = join(root, "test-output", `${name}.json`);
  if (!existsSync(report)) {
    console.log(`${name}: no report`);
    return;
  }
  const results = JSON.parse(readFileSync(report, "utf8"));
  const { numPassedTests, numFailedTests, numPendingTests } = results;
  console.log(`${name}: ${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
  const again = join(root, "test-output", `${name}-again.json`);
  const verdict = existsSync(again) && JSON.parse(readFileSync(again, "utf8")).success ? "unsteady" : "failed";
  for (const title of failedTests(results)) console.log(`  ${verdict}: ${title}`);
}

/** `file > test: first line of what it said`, a file that could not be run at all included. */
function failedTests({ testResults }) {
  return testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, message, assertionResults }) => {
      const file = relative(root, name);
      const failed = assertionResults.filter(({ status }) => status === "failed");
      if (failed.length === 0) return [`${file}: ${firstLine(message)}`];
      return failed.map((test) => `${file} > ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
    });
}

const assertions = ({ testResults }) => testResults.flatMap(({ assertionResults }) => assertionResults);

const firstLine = (text = "") => text.split("\n", 1)[0];
