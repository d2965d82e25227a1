/** `npm run test:acp [-- vitest arguments]`: agents and clients that speak the Agent Client Protocol. */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";

ensureInstalled();
ensureBuilt();
process.exitCode = runTests(["--config", "vitest.acp.config.ts", ...process.argv.slice(2)], { name: "acp" });
