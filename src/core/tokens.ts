/** Arithmetic of token counts. */
import type { Tokens } from "../protocol/events.ts";

export const noTokens = (): Tokens => ({ input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 });

export const isZero = (tokens: Tokens): boolean =>
  tokens.input === 0 &&
  tokens.output === 0 &&
  tokens.reasoning === 0 &&
  tokens.cache_read === 0 &&
  tokens.cache_write === 0;

export const addTokens = (a: Tokens, b: Tokens): Tokens => combineTokens(a, b, (left, right) => left + right);

/** What is in the first beyond the second; never negative. */
export const tokensBeyond = (total: Tokens, known: Tokens): Tokens =>
  combineTokens(total, known, (left, right) => Math.max(0, left - right));

/** Whether the first has of anything more than the second. */
export const hasMore = (total: Tokens, known: Tokens): boolean =>
  total.input > known.input ||
  total.output > known.output ||
  total.reasoning > known.reasoning ||
  total.cache_read > known.cache_read ||
  total.cache_write > known.cache_write;

export function combineTokens(a: Tokens, b: Tokens, by: (a: number, b: number, field: keyof Tokens) => number): Tokens {
  return {
    input: by(a.input, b.input, "input"),
    output: by(a.output, b.output, "output"),
    reasoning: by(a.reasoning, b.reasoning, "reasoning"),
    cache_read: by(a.cache_read, b.cache_read, "cache_read"),
    cache_write: by(a.cache_write, b.cache_write, "cache_write"),
  };
}
