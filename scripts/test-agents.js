/**
 * `npm run test:agents -- claude|codex|opencode|amp …`: installs the real CLIs into a cache (once), hands their paths
 * to the tests as FRANCA_TEST_<AGENT>, and runs test/agents/.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.js";
import { runTests } from "./run-tests.js";
import { agents, installed, known, variable } from "./tools.js";

// Names first; from the first option on, everything is vitest's.
const given = process.argv.slice(2);
if (given[0] === "acp") {
  // Agents and clients of one protocol have a suite of their own.
  process.argv.splice(2, 1);
  await import("./test-acp.js");
  process.exit();
}
const firstOption = given.findIndex((argument) => argument.startsWith("-"));
const wanted = known(firstOption < 0 ? given : given.slice(0, firstOption));
const passed = firstOption < 0 ? [] : given.slice(firstOption);

ensureInstalled();
ensureBuilt();

const names = wanted.length > 0 ? wanted : Object.keys(agents).filter(hasTests);
const env = Object.fromEntries(names.map((name) => [variable(name), installed(name)]));
// Without names also what is about several of them.
const files = wanted.length > 0 ? wanted.map((name) => `test/agents/${name}`) : ["test/agents"];
process.exitCode = runTests([...files, ...passed], { name: "agents", config: "vitest.agents.config.ts", env });

function hasTests(name) {
  const folder = join(root, "test", "agents");
  return existsSync(folder) && readdirSync(folder).some((file) => file.startsWith(name) && file.endsWith(".test.ts"));
}
