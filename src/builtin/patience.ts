/** Tries a model call again while that makes sense, and says how long the wait is. An abort ends the wait at once. */
import { defined } from "../core/defined.ts";
import type { Failure } from "./failure.ts";
import { defaultRetry, retryDelay } from "./retry.ts";
import type { SessionContext } from "./session-context.ts";

interface Waiting {
  readonly context: SessionContext;
  readonly signal: AbortSignal;
  readonly subagent: string | undefined;
}

type Tried<Result> = Result | { readonly type: "failed"; readonly failure: Failure } | { readonly type: "stopped" };

export async function withRetries<Result extends { readonly type: string }>(
  { context, signal, subagent }: Waiting,
  attemptOnce: (attempt: number) => Promise<Result>,
): Promise<Tried<Result>> {
  const { world, settings } = context;
  const { max, baseMs, capMs } = settings.retry ?? {};
  const policy = {
    max: max ?? defaultRetry.max,
    baseMs: baseMs ?? defaultRetry.baseMs,
    capMs: capMs ?? defaultRetry.capMs,
  };
  for (let attempt = 1; ; attempt += 1) {
    const result = await attemptOnce(attempt);
    if (!isFailed(result)) return result;
    const { failure } = result;
    const delay = retryDelay({ failure, attempt, policy, now: world.now(), random: world.random() });
    if (delay === null) return { type: "failed", failure: lastWord({ failure, retries: attempt - 1 }) };
    await context.say({
      type: "retry",
      attempt,
      message: failure.message,
      delay_ms: delay,
      ...defined({ subagent }),
    });
    try {
      await world.sleep(delay, signal);
    } catch (error) {
      if (signal.aborted) return { type: "stopped" };
      throw error;
    }
  }
}

function isFailed(result: { readonly type: string }): result is { readonly type: "failed"; readonly failure: Failure } {
  return result.type === "failed";
}

function lastWord({ failure, retries }: { failure: Failure; retries: number }): Failure {
  if (retries === 0) return failure;
  const times = retries === 1 ? "one retry" : `${retries} retries`;
  return { ...failure, message: `${failure.message} (given up after ${times})` };
}
