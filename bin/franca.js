#!/usr/bin/env node
/** The CLI's door: refuses what cannot work with a sentence, answers --version at once, else loads the bundle. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => new URL(path, import.meta.url);
const [major, minor] = process.versions.node.split(".").map(Number);
const nodeIsTooOld = major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 13);

if (process.platform === "win32") {
  fail("Franca runs on Linux and macOS. On Windows, use it inside WSL.");
} else if (nodeIsTooOld) {
  fail(`Franca needs Node 20.19, 22.13 or later; this is ${process.versions.node}.`);
} else if (["--version", "-v", "-V"].includes(process.argv[2])) {
  console.log(JSON.parse(readFileSync(here("../package.json"), "utf8")).version);
} else if (!existsSync(here("../dist/cli.js"))) {
  fail("Franca is not built yet. In its folder, run: npm ci && npm run build");
} else {
  if (["serve", "server"].includes(process.argv[2])) await startEngine();
  keepCompiled(await import("node:module"));
  const main = await load();
  await main?.(process.argv.slice(2));
}

/** The program has about a hundred files, of which Node opens many at once. */
async function load() {
  try {
    return (await import("../dist/cli.js")).main;
  } catch (error) {
    if (error.code !== "EMFILE" && error.code !== "ENFILE") throw error;
    fail("Franca may not open more files: raise the limit, for example with `ulimit -n 1024`, and start it again.");
  }
}

/**
 * From Node 22 on, compiled code is kept for the next start, which saves it 40 of 245 ms. Beside the program: Node's
 * own place is in the folder for temporary files, where others could put code for us. A folder that cannot be written
 * has none.
 */
function keepCompiled({ enableCompileCache }) {
  enableCompileCache?.(fileURLToPath(here("../dist/compile-cache")));
}

/**
 * V8's compilers take 5 MiB with what they make, and a start runs its code once: `serve` turns them on afterwards. With
 * two processors, threads of the collector take them from the agent and the clients; they are turned off before one of
 * them has begun to work.
 */
async function startEngine() {
  const [{ setFlagsFromString }, { availableParallelism }] = await Promise.all([import("node:v8"), import("node:os")]);
  const flags = ["--no-opt", "--no-sparkplug"];
  if (availableParallelism() <= 2) flags.push("--no-concurrent-marking", "--no-parallel-scavenge");
  for (const flag of flags) setFlagsFromString(flag);
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
