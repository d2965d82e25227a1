/** A log whose calls fail when a test asks for it: a proxy before a real one. */
import type { EventLog } from "../../src/runtime/log/contract.ts";

export interface FailingLog {
  readonly log: EventLog;
  /** The next `count` calls of this method reject. */
  readonly fail: (method: string, error: Error, count?: number) => void;
  /** Number of calls that were made to fail. */
  readonly failed: () => number;
}

/**
 * The methods of a log that sessions call in everyday use. Not `dropPrompt`, which removes a prompt that was refused
 * after it was stored: its caller gets the error.
 */
export const storeCalls = [
  "addPrompt",
  "append",
  "changeSettings",
  "checkpoint",
  "claim",
  "create",
  "delete",
  "endRun",
  "find",
  "itemsBefore",
  "lastNativeLine",
  "list",
  "owned",
  "putRun",
  "queuedPrompts",
  "read",
  "readAll",
  "readNative",
  "release",
  "runs",
  "sessionsWithQueue",
] as const satisfies readonly (keyof EventLog)[];

export function openFailingLog(log: EventLog): FailingLog {
  let failing: { readonly method: string; readonly error: Error; count: number } | null = null;
  let failed = 0;
  const proxy = new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        if (failing?.method !== name || failing.count === 0) return Reflect.apply(value, target, given);
        failing.count -= 1;
        failed += 1;
        return Promise.reject(failing.error);
      };
    },
  });
  return {
    log: proxy,
    fail(method, error, count = 1) {
      failing = { method, error, count };
    },
    failed: () => failed,
  };
}
