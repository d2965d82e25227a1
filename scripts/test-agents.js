/**
 * `npm run test:agents -- claude|codex|opencode|amp …`: installs the real CLIs into a cache (once), hands their paths
 * to the tests as FRANCA_TEST_<AGENT>, and runs test/agents/. The cache is FRANCA_TOOLS or ~/.cache/franca-test-agents.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.js";
import { runTests } from "./run-tests.js";

const INSTALL_TIMEOUT_MS = 600_000;

/** The versions that the transcripts were recorded with; FRANCA_TEST_<AGENT>_VERSION asks for another. */
const agents = {
  claude: {
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    // Without install scripts the package's own command is a stub; the program itself lies beside it.
    programs: ["@anthropic-ai/claude-code-{platform}-{arch}/claude", ".bin/claude"],
  },
  codex: { package: "@openai/codex", version: "0.166.0", programs: [".bin/codex"] },
  opencode: {
    package: "opencode-ai",
    version: "1.18.33",
    programs: ["opencode-{platform}-{arch}/bin/opencode", ".bin/opencode"],
  },
  amp: { package: "@sourcegraph/amp", version: "0.0.1777897475-g2324e1", programs: [".bin/amp"] },
};

// Names first; from the first option on, everything is vitest's.
const given = process.argv.slice(2);
const firstOption = given.findIndex((argument) => argument.startsWith("-"));
const wanted = firstOption < 0 ? given : given.slice(0, firstOption);
const passed = firstOption < 0 ? [] : given.slice(firstOption);
const unknown = wanted.filter((name) => !(name in agents));
if (unknown.length > 0) {
  console.error(`No such agent: ${unknown.join(", ")}. Known: ${Object.keys(agents).join(", ")}.`);
  process.exit(2);
}

ensureInstalled();
ensureBuilt();

const cache = process.env.FRANCA_TOOLS || join(homedir(), ".cache", "franca-test-agents");
const names = wanted.length > 0 ? wanted : Object.keys(agents).filter(hasTests);
const env = Object.fromEntries(names.map((name) => [variable(name), find(name)]));
const files = names.map((name) => `test/agents/${name}`);
process.exitCode = runTests(["--config", "vitest.agents.config.ts", ...files, ...passed], { name: "agents", env });

function hasTests(name) {
  const folder = join(root, "test", "agents");
  return existsSync(folder) && readdirSync(folder).some((file) => file.startsWith(name) && file.endsWith(".test.ts"));
}

function variable(name) {
  return `FRANCA_TEST_${name.toUpperCase()}`;
}

function find(name) {
  const given = process.env[variable(name)];
  if (given) return given;
  const version = process.env[`${variable(name)}_VERSION`] || agents[name].version;
  const folder = join(cache, name, version);
  if (!program(name, folder)) install(name, { folder, version });
  const found = program(name, folder);
  if (found) return found;
  console.error(`${name} was installed into ${folder}, but no program was found there.`);
  process.exit(1);
}

function program(name, folder) {
  const paths = agents[name].programs.map((path) =>
    join(folder, "node_modules", path.replace("{platform}", process.platform).replace("{arch}", process.arch)),
  );
  return paths.find((path) => existsSync(path));
}

function install(name, { folder, version }) {
  const spec = `${agents[name].package}@${version}`;
  console.error(`Installing ${spec} into ${folder}…`);
  mkdirSync(folder, { recursive: true });
  // A package of its own, so that npm does not look for one in a parent folder.
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const { status } = spawnSync("npm", ["install", "--no-fund", "--no-audit", "--engine-strict=false", spec], {
    cwd: folder,
    stdio: ["ignore", 2, 2],
    timeout: INSTALL_TIMEOUT_MS,
  });
  if (status === 0) return;
  console.error(`${spec} could not be installed (npm exit code ${status ?? "none"}).`);
  process.exit(1);
}
