/** Tokens and cost. A model call is counted at its end; the result has the turn's total, subagents included. */
import type { Report } from "../../core/report.ts";
import { stepUsage as stepReport } from "../../core/report-builders.ts";
import { addTokens, noTokens, tokensBeyond } from "../../core/tokens.ts";
import type { ClaudeModelUsage, ClaudeResult, ClaudeUsage } from "../../dialects/claude.ts";
import type { Tokens } from "../../protocol/events.ts";
import type { State } from "./state.ts";

export function stepUsage(
  state: State,
  { message_id, finish, usage }: { message_id: string | null; finish: string; usage: ClaudeUsage },
): Report[] {
  const tokens = tokensOf(usage);
  state.counted = addTokens(state.counted, tokens);
  return [stepReport({ tokens, finish, message_id: message_id ?? undefined })];
}

/**
 * What the turn used beyond the model calls reported so far. `total_cost_usd` and `modelUsage` grow over the session
 * and its resumes, and start again after /clear. Newer versions send the difference; else the machine computes it.
 */
export function turnUsage(state: State, line: ClaudeResult): Report[] {
  const since = line.model_usage_since_last_result;
  if (since !== undefined) {
    const tokens = tokensBeyond(sumOf(since), state.counted);
    return [{ type: "usage", scope: "turn", mode: "add", tokens, cost_usd: costOf(since) }];
  }
  const { total_cost_usd, modelUsage, usage } = line;
  const out: Report[] = [];
  if (modelUsage === undefined && usage !== undefined) {
    out.push({ type: "usage", scope: "turn", mode: "add", tokens: tokensBeyond(tokensOf(usage), state.counted) });
  }
  if (modelUsage === undefined && total_cost_usd === undefined) return out;
  out.push({
    type: "usage",
    scope: "session",
    mode: "total",
    tokens: modelUsage === undefined ? undefined : sumOf(modelUsage),
    cost_usd: total_cost_usd,
  });
  return out;
}

export function tokensOf(usage: ClaudeUsage): Tokens {
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
    total = addTokens(total, {
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
