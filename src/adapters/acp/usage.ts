/** Token counts: in the prompt's result, or beside the protocol where an agent has its own way. */
import type { Report } from "../../core/report.ts";
import { stepUsage } from "../../core/report-builders.ts";
import { isZero } from "../../core/tokens.ts";
import type { UpdateOf } from "../../dialects/acp.ts";
import { isNumber, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { Tokens } from "../../protocol/events.ts";
import type { State } from "./state.ts";

/** `usage` of a prompt's result. */
export function resultUsage(state: State, { usage, _meta }: Shape): Report[] {
  const own = state.quirks.tokensIn?.(_meta) ?? null;
  if (own !== null) return turnUsage(own);
  const counts = shapeOf(usage);
  if (counts.inputTokens === undefined) return [];
  return turnUsage(tokensOf(counts, { includesCache: state.quirks.usage?.includesCache ?? false }));
}

const turnUsage = (tokens: Tokens): Report[] =>
  isZero(tokens) ? [] : [{ type: "usage", scope: "turn", mode: "add", tokens }];

/** One model call, where the agent counts them one by one. */
export function stepTokens(state: State, meta: unknown): Report[] {
  if (meta === undefined || meta === null) return [];
  const tokens = state.quirks.tokensIn?.(meta) ?? null;
  return tokens === null || isZero(tokens) ? [] : [stepUsage({ tokens })];
}

/** Cost adds up over the agent's session. How full the context window is says nothing about what was used. */
export function onUsageUpdate({ cost }: UpdateOf<"usage_update">): Report[] {
  if (cost === null || cost === undefined || cost.currency !== "USD") return [];
  return [{ type: "usage", scope: "session", mode: "total", cost_usd: cost.amount }];
}

export function tokensOf(counts: Shape, { includesCache }: { includesCache: boolean }): Tokens {
  const input = count(counts.inputTokens);
  const cache_read = count(counts.cachedReadTokens);
  const cache_write = count(counts.cachedWriteTokens);
  const reasoning = count(counts.thoughtTokens);
  return {
    input: includesCache ? Math.max(0, input - cache_read - cache_write) : input,
    output: Math.max(0, count(counts.outputTokens) - reasoning),
    reasoning,
    cache_read,
    cache_write,
  };
}

export const count = (value: unknown): number => (isNumber(value) ? value : 0);
