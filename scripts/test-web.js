/** `npm run test:web [-- vitest arguments]`: the inspector in Chromium. UPDATE=1 writes docs/images too. */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";

ensureInstalled();
ensureBuilt();
const args = ["--config", "vitest.web.config.ts", ...process.argv.slice(2)];
process.exitCode = runTests(args, { name: "web" });
