/**
 * `npm run test:postgres [-- --rounds N, --newest, vitest arguments]`: the log on a real Postgres, which this script
 * starts and stops. Where there is none it is installed in CI; elsewhere the suite is skipped, saying so. With
 * `--rounds` three hosts go through so many rounds of faults: ten in CI, none elsewhere by default. With `--newest`,
 * and in CI, what every log must keep is tested on the newest Postgres too. OpenCode's TUI is tried where it is there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.js";
import { copyNewest, findPostgres, installPostgres, startPostgres } from "./postgres-server.js";
import { runTests } from "./run-tests.js";
import { found, variable } from "./tools.js";

ensureInstalled();
if (findPostgres() === undefined && process.env.CI === "true") installPostgres();
const bin = findPostgres();
if (bin === undefined) skip();
else await test(bin);
if (bin !== undefined && (process.env.CI === "true" || process.argv.includes("--newest"))) await testNewest();

async function test(programs) {
  ensureBuilt();
  const { server, stop } = await startPostgres(programs);
  try {
    const { rounds, rest } = argumentsOf(process.argv.slice(2));
    const opencode = found("opencode");
    const tui = opencode === undefined ? {} : { [variable("opencode")]: opencode };
    const env = { FRANCA_TEST_POSTGRES: JSON.stringify(server), FRANCA_TEST_ROUNDS: rounds, ...tui };
    process.exitCode = runTests(rest, { name: "postgres", config: "vitest.postgres.config.ts", env });
  } finally {
    stop();
  }
}

async function testNewest() {
  if (process.platform !== "linux")
    return console.log("skipped: the newest Postgres, which is installed on Linux only");
  const { bin: newest, remove } = copyNewest();
  try {
    const { server, stop } = await startPostgres(newest);
    try {
      const env = { FRANCA_TEST_POSTGRES: JSON.stringify(server) };
      const config = "vitest.postgres.config.ts";
      process.exitCode ||= runTests(["test/postgres/log.test.ts"], { name: "postgres-newest", config, env });
    } finally {
      stop();
    }
  } finally {
    remove();
  }
}

function argumentsOf(given) {
  const args = given.filter((argument) => argument !== "--newest");
  const at = args.indexOf("--rounds");
  if (at < 0) return { rounds: process.env.CI === "true" ? "10" : "0", rest: args };
  return { rounds: args[at + 1] ?? "", rest: args.toSpliced(at, 2) };
}

function skip() {
  console.log("skipped: the Postgres suite, because initdb, postgres and pg_ctl were not found");
  console.log("0 passed, 0 failed");
  const report = { success: true, numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [] };
  mkdirSync(join(root, "test-output"), { recursive: true });
  writeFileSync(join(root, "test-output", "postgres.json"), JSON.stringify(report));
  process.exitCode = process.env.CI === "true" ? 1 : 0;
}
