/** `npm run test:slow [-- vitest arguments]`: tests that need only Node and take too long for `npm test`. */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";
import { found, variable } from "./tools.js";

ensureInstalled();
ensureBuilt();
const opencode = found("opencode");
const env = opencode === undefined ? {} : { [variable("opencode")]: opencode };
process.exitCode = runTests(process.argv.slice(2), { name: "slow", config: "vitest.slow.config.ts", env });
