/**
 * `npm run test:acp [-- vitest arguments]`: real agents and clients that speak the Agent Client Protocol, installed
 * into a cache (once), with the Node that they need.
 */
import { ensureBuilt, ensureInstalled } from "./ensure.js";
import { runTests } from "./run-tests.js";
import { installed, variable } from "./tools.js";

const names = ["claude", "claude-acp", "opencode-acp", "qwen", "gemini", "grok", "kimi", "acp-sdk", "acpx", "node"];

ensureInstalled();
ensureBuilt();
const env = Object.fromEntries(names.map((name) => [variable(name), installed(name)]));
process.exitCode = runTests(process.argv.slice(2), { name: "acp", config: "vitest.acp.config.ts", env });
