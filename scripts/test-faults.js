/** `npm run test:faults [-- --seeds N]`: bundles test/faults/main.ts and runs it against the built daemon. */
import { ensureBuilt, ensureInstalled, root, tryRun } from "./ensure.js";

ensureInstalled();
ensureBuilt();
const { bundle } = await import("./bundle.js");
process.chdir(root);
process.exitCode = tryRun(process.execPath, [await bundle("test/faults/main.ts"), ...process.argv.slice(2)]);
