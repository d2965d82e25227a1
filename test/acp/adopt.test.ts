/** Conversations of agents that speak ACP, adopted from their own files, and continued in them. */
import { gemini } from "../../src/adapters/acp/agents/gemini.ts";
import { qwen } from "../../src/adapters/acp/agents/qwen.ts";
import { adoptedSuite } from "../support/adopt-real.ts";
import { describeNeeding } from "../support/requires.ts";

for (const adapter of [gemini, qwen]) {
  const program = process.env[`FRANCA_TEST_${adapter.agent.toUpperCase()}`];
  const node = process.env.FRANCA_TEST_NODE;
  const missing = program === undefined || node === undefined ? "run: npm run test:acp" : null;
  describeNeeding(`${adapter.name}, adopted`, { missing }, () =>
    adoptedSuite(adapter, { program: program ?? "", ...(node === undefined ? {} : { node }) }),
  );
}
