/** Tokens and cost. A model call is told at its end; the result tells the turn's whole, subagents included. */
import type { Report } from "../../core/report.ts";
import type { ClaudeModelUsage, ClaudeResult, ClaudeUsage } from "../../dialects/claude.ts";
import type { Tokens } from "../../protocol/events.ts";
import { noTokens, type State } from "./state.ts";

export function stepUsage(
  state: State,
  { message_id, finish, usage }: { message_id: string | null; finish: string; usage: ClaudeUsage },
): Report[] {
  const tokens = tokensOf(usage);
  state.counted = add(state.counted, tokens);
  return [
    { type: "usage", scope: "step", mode: "add", tokens, finish, ...(message_id === null ? {} : { message_id }) },
  ];
}

/**
 * What the turn used beyond the model calls told so far. `total_cost_usd` and `modelUsage` grow over the session, go
 * on over a resume and start again after /clear. Newer versions tell the difference; else the machine makes it.
 */
export function turnUsage(state: State, line: ClaudeResult): Report[] {
  const since = line.model_usage_since_last_result;
  if (since !== undefined) {
    const tokens = less(sumOf(since), state.counted);
    return [{ type: "usage", scope: "turn", mode: "add", tokens, cost_usd: costOf(since) }];
  }
  const { total_cost_usd, modelUsage, usage } = line;
  const out: Report[] = [];
  if (modelUsage === undefined && usage !== undefined) {
    out.push({ type: "usage", scope: "turn", mode: "add", tokens: less(tokensOf(usage), state.counted) });
  }
  if (modelUsage === undefined && total_cost_usd === undefined) return out;
  out.push({
    type: "usage",
    scope: "session",
    mode: "total",
    ...(modelUsage === undefined ? {} : { tokens: sumOf(modelUsage) }),
    ...(total_cost_usd === undefined ? {} : { cost_usd: total_cost_usd }),
  });
  return out;
}

function tokensOf(usage: ClaudeUsage): Tokens {
  const reasoning = usage.output_tokens_details?.thinking_tokens ?? 0;
  return {
    input: usage.input_tokens ?? 0,
    output: Math.max(0, (usage.output_tokens ?? 0) - reasoning),
    reasoning,
    cache_read: usage.cache_read_input_tokens ?? 0,
    cache_write: usage.cache_creation_input_tokens ?? 0,
  };
}

function sumOf(models: Readonly<Record<string, ClaudeModelUsage>>): Tokens {
  let total = noTokens();
  for (const model of Object.values(models)) {
    const reasoning = model.thinkingTokens ?? 0;
    total = add(total, {
      input: model.inputTokens ?? 0,
      output: Math.max(0, (model.outputTokens ?? 0) - reasoning),
      reasoning,
      cache_read: model.cacheReadInputTokens ?? 0,
      cache_write: model.cacheCreationInputTokens ?? 0,
    });
  }
  return total;
}

const costOf = (models: Readonly<Record<string, ClaudeModelUsage>>): number =>
  Object.values(models).reduce((total, model) => total + (model.costUSD ?? 0), 0);

const add = (a: Tokens, b: Tokens): Tokens => combine(a, b, (left, right) => left + right);
const less = (a: Tokens, b: Tokens): Tokens => combine(a, b, (left, right) => Math.max(0, left - right));

const combine = (a: Tokens, b: Tokens, by: (a: number, b: number) => number): Tokens => ({
  input: by(a.input, b.input),
  output: by(a.output, b.output),
  reasoning: by(a.reasoning, b.reasoning),
  cache_read: by(a.cache_read, b.cache_read),
  cache_write: by(a.cache_write, b.cache_write),
});
