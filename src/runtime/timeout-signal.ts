/**
 * Signals that abort after a time. On Node 20 the garbage collector drops an `AbortSignal.timeout` that only
 * `AbortSignal.any` refers to, so it never fires. Here a timer holds the controller.
 */

/** The longest time that a timer takes. */
const MAX_MS = 2 ** 31 - 1;

export interface Timeout {
  readonly ms: number;
  /** Aborts earlier, with its own reason. */
  readonly signal?: AbortSignal;
}

/** Returns a signal that aborts with a `TimeoutError` after `ms`, or when the other signal aborts. */
export function timeoutSignal({ ms, signal }: Timeout): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new DOMException(`Timed out after ${ms} ms.`, "TimeoutError"));
  setTimeout(abort, Math.min(ms, MAX_MS)).unref();
  return signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]);
}
