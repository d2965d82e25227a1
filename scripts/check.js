/**
 * `npm run check`: format, lint, types, build and tests. Green before every commit. CI runs the same steps with
 * `--no-tests`, and each suite of tests as a step of its own.
 */
import { join } from "node:path";
import { ensureInstalled, root, run, tool } from "./ensure.js";

ensureInstalled();

const script = (name) => [process.execPath, [join(root, "scripts", name)]];
const steps = [
  ["format and lint", tool("biome"), ["check", "."]],
  ["types of the pure layers, without Node", tool("tsc"), ["-p", "tsconfig.pure.json"]],
  ["types", tool("tsc"), ["-p", "tsconfig.json"]],
  ["types of the inspector", tool("tsc"), ["-p", "tsconfig.web.json"]],
  ["build", ...script("build.js")],
  ...(process.argv.includes("--no-tests") ? [] : [["tests", ...script("test.js")]]),
];

for (const [title, command, args] of steps) {
  console.log(`\n── ${title}`);
  run(command, args);
}
console.log("\nAll checks passed.");
