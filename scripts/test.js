/** `npm test [-- vitest arguments]`: a ready checkout, then the tests. */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";

ensureInstalled();
ensureBuilt();
process.exitCode = runTests(process.argv.slice(2), { name: "tests" });
