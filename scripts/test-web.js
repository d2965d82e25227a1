/** `npm run test:web [-- vitest arguments]`: the inspector in Chromium. UPDATE=1 writes docs/images too. */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";

ensureInstalled();
ensureBuilt();
process.exitCode = runTests(process.argv.slice(2), { name: "web", config: "vitest.web.config.ts" });
