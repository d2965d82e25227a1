/** `npm run soak [-- --minutes N]`: bundles test/faults/soak.ts and runs it against the built daemon. */
import { ensureBuilt, ensureInstalled, root, tryRun } from "./ensure.js";

ensureInstalled();
ensureBuilt();
const { bundle } = await import("./bundle.js");
process.chdir(root);
process.exitCode = tryRun(process.execPath, [await bundle("test/faults/soak.ts"), ...process.argv.slice(2)]);
