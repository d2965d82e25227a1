/** `npm test [-- vitest arguments]`: a ready checkout, then the tests; OpenCode's TUI among them where it is there. */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";
import { found, variable } from "./tools.js";

ensureInstalled();
ensureBuilt();
const opencode = found("opencode");
const env = opencode === undefined ? {} : { [variable("opencode")]: opencode };
process.exitCode = runTests(process.argv.slice(2), { name: "tests", env });
