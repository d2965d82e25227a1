/** `npm run simulate [-- --seeds N --from S]`: bundles test/simulation/main.ts and runs it. */
import { ensureInstalled, root, tryRun } from "./ensure.js";

ensureInstalled();
const { bundle } = await import("./bundle.js");
process.chdir(root);
process.exitCode = tryRun(process.execPath, [await bundle("test/simulation/main.ts"), ...process.argv.slice(2)]);
