/** Token counts: Codex repeats its thread's total after every model call and at other times; the gain is reported. */
import type { UsageReport } from "../../core/report.ts";
import { stepUsage } from "../../core/report-builders.ts";
import { isZero, tokensBeyond } from "../../core/tokens.ts";
import type { ParamsOf, TokenCounts } from "../../dialects/codex.ts";
import type { Tokens } from "../../protocol/events.ts";
import { endModelStep, messageId, type Thread } from "./state.ts";

export function onUsage(thread: Thread, params: ParamsOf<"thread/tokenUsage/updated">): UsageReport[] {
  const total = tokensOf(params.tokenUsage.total);
  const { counted } = thread;
  thread.counted = total;
  const message_id = messageId(thread, params.turnId);
  const spoke = thread.stepUsed;
  if (thread.turn !== null) endModelStep(thread);
  // A resumed thread first repeats what it had: outside a turn all of it is old, inside all but the last call.
  if (counted === null && thread.turn === null) return [];
  const before = counted ?? tokensBeyond(total, tokensOf(params.tokenUsage.last));
  const gained = tokensBeyond(total, before);
  if (isZero(gained)) return [];
  return [stepUsage({ tokens: gained, message_id: spoke ? message_id : undefined })];
}

/** `inputTokens` includes what came from the cache, `outputTokens` the reasoning. */
function tokensOf(counts: TokenCounts): Tokens {
  const cacheWrite = counts.cacheWriteInputTokens ?? 0;
  return {
    input: Math.max(0, counts.inputTokens - counts.cachedInputTokens - cacheWrite),
    output: Math.max(0, counts.outputTokens - counts.reasoningOutputTokens),
    reasoning: counts.reasoningOutputTokens,
    cache_read: counts.cachedInputTokens,
    cache_write: cacheWrite,
  };
}
