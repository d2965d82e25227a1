/** Conversations made with the real agents, adopted from their own files, and continued in them. */
import { claude } from "../../src/adapters/claude/index.ts";
import { codex } from "../../src/adapters/codex/index.ts";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { adoptedSuite } from "../support/adopt-real.ts";
import { describeNeeding } from "../support/requires.ts";

for (const adapter of [claude, codex, opencode]) {
  const program = process.env[`FRANCA_TEST_${adapter.agent.toUpperCase()}`];
  const missing = program === undefined ? `run: npm run test:agents -- ${adapter.agent}` : null;
  describeNeeding(`${adapter.name}, adopted`, { missing }, () => adoptedSuite(adapter, { program: program ?? "" }));
}
