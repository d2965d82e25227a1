/** `npm run bench [-- name …]`: bundles bench/index.ts and runs it; names choose single measurements. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root, run } from "./ensure.js";

ensureInstalled();
ensureBuilt();

const entry = "bench/index.ts";
if (!existsSync(join(root, entry))) {
  console.error(`${entry} is missing: there is nothing to measure.`);
  process.exit(1);
}
const { bundle } = await import("./bundle.js");
run(process.execPath, ["--expose-gc", await bundle(entry), ...process.argv.slice(2)]);
