/**
 * `npm run test:security [-- vitest arguments]`: all security tests, with real agents, which are installed into a cache
 * (once), and with Chromium where it is there.
 */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";
import { installed, variable } from "./tools.js";

ensureInstalled();
ensureBuilt();
const names = ["claude", "codex", "opencode", "claude-acp", "gemini", "node"];
const env = Object.fromEntries(names.map((name) => [variable(name), installed(name)]));
process.exitCode = runTests(process.argv.slice(2), { name: "security", config: "vitest.security.config.ts", env });
