/** When to try a failed model call again: the provider's own word first, else a doubling wait with jitter. Pure. */
import type { Failure } from "./failure.ts";

export interface RetryPolicy {
  /** Retries after the first try. */
  readonly max: number;
  readonly baseMs: number;
  /** For waits of our own making; a provider's word is kept, however long. */
  readonly capMs: number;
}

export const defaultRetry: RetryPolicy = { max: 5, baseMs: 2_000, capMs: 30_000 };

/** Timers cannot wait longer than this. */
const LONGEST_TIMER_MS = 2_147_483_647;
const JITTER = 0.25;

export interface RetryQuestion {
  readonly failure: Failure;
  /** The retry that would follow, counted from 1. */
  readonly attempt: number;
  readonly policy: RetryPolicy;
  /** Epoch milliseconds, for dates in `retry-after`. */
  readonly now: number;
  /** From 0 to 1. */
  readonly random: number;
}

/** Milliseconds until the next try, or null to give up. */
export function retryDelay({ failure, attempt, policy, now, random }: RetryQuestion): number | null {
  if (failure.kind !== "passing" || attempt > policy.max) return null;
  const asked = headerDelay(failure.headers, now);
  if (asked !== null) return Math.min(asked, LONGEST_TIMER_MS);
  const doubled = policy.baseMs * 2 ** (attempt - 1);
  return Math.min(Math.ceil(doubled * (1 + JITTER * random)), policy.capMs);
}

/** `retry-after-ms`, else `retry-after` in seconds or as a date. A date in the past means now. */
function headerDelay(headers: Readonly<Record<string, string>>, now: number): number | null {
  const milliseconds = positive(headers["retry-after-ms"]);
  if (milliseconds !== null) return Math.ceil(milliseconds);
  const after = headers["retry-after"];
  const seconds = positive(after);
  if (seconds !== null) return Math.ceil(seconds * 1_000);
  // Only what spells out a day is a date: a parser takes "-1" for a year.
  const date = after === undefined || !/[a-z]/i.test(after) ? Number.NaN : Date.parse(after);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

function positive(text: string | undefined): number | null {
  if (text === undefined || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}
