/**
 * Background work of the daemon. A task has a name, starts again after an error with a growing delay, and is counted,
 * logged and reported as failing until it works again. No error of a task ends the process.
 */
import { ApiError } from "../protocol/errors.ts";
import type { EventGroup, Follow } from "./log/contract.ts";
import type { Logger } from "./logger.ts";
import { realSystem, type System } from "./system.ts";

/** Every background task of the daemon. */
export const taskNames = [
  "agents",
  "idle-sessions",
  "metrics",
  "notices",
  "opencode",
  "places",
  "plugins",
  "quota",
  "recovery",
  "retention",
  "sessions",
  "snapshots",
  "telemetry",
  "telemetry-export",
  "webhooks",
] as const;
export type TaskName = (typeof taskNames)[number];

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** Time without an error after which a task counts as working again, unless it reports progress earlier. */
const RECOVERED_MS = 10_000;

export interface FailingTask {
  readonly name: TaskName;
  /** The code of its last error. The message may name files and hosts, and is in the logger's output only. */
  readonly error: string;
}

export interface RunningTask {
  /** Resolves when the task has ended, because its work is done or its signal has fired. Never rejects. */
  readonly ended: () => Promise<void>;
}

export interface Background {
  /** Runs `work` until it is done, and again after an error, until the signal fires. */
  readonly start: (name: TaskName, work: TaskWork, signal: AbortSignal) => RunningTask;
  /** Runs `work` once. The caller is responsible for trying again. */
  readonly run: (name: TaskName, work: () => Promise<unknown>) => void;
  readonly failing: () => readonly FailingTask[];
  /** Number of errors by task, since the start. */
  readonly failures: () => ReadonlyMap<TaskName, number>;
}

/** `onProgress` marks the task as working again after an error. */
export type TaskWork = (onProgress: () => void) => Promise<void>;

export interface BackgroundOptions {
  readonly logger: Logger;
  readonly system?: System;
}

interface State {
  readonly logger: Logger;
  readonly system: System;
  readonly failing: Map<TaskName, string>;
  readonly failures: Map<TaskName, number>;
}

export function openBackground({ logger, system = realSystem }: BackgroundOptions): Background {
  const state: State = { logger, system, failing: new Map(), failures: new Map() };
  return {
    start(name, work, signal) {
      const ended = repeat(state, { name, work, signal }).catch((error: unknown) => fail(state, name, error));
      return { ended: () => ended };
    },
    run(name, work) {
      call(work).then(
        () => recover(state, name),
        (error: unknown) => fail(state, name, error),
      );
    },
    failing: () => [...state.failing].map(([name, error]) => ({ name, error })),
    failures: () => state.failures,
  };
}

interface Task {
  readonly name: TaskName;
  readonly work: TaskWork;
  readonly signal: AbortSignal;
}

async function repeat(state: State, { name, work, signal }: Task): Promise<void> {
  const { system } = state;
  let delayMs = FIRST_DELAY_MS;
  while (!signal.aborted) {
    const onProgress = (): void => {
      delayMs = FIRST_DELAY_MS;
      recover(state, name);
    };
    const timer = state.failing.has(name) ? system.after(RECOVERED_MS, onProgress, { background: true }) : null;
    try {
      await work(onProgress);
      recover(state, name);
      return;
    } catch (error) {
      if (signal.aborted) return;
      fail(state, name, error);
    } finally {
      timer?.cancel();
    }
    await pause(system, delayMs, signal);
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
  }
}

/** An error that is thrown before the first `await` of a function that is not async is a rejection too. */
const call = async (work: () => Promise<unknown>): Promise<unknown> => work();

function fail({ logger, failing, failures }: State, name: TaskName, error: unknown): void {
  failing.set(name, errorCode(error));
  failures.set(name, (failures.get(name) ?? 0) + 1);
  logger.error("task.failed", { task: name, failures: failures.get(name), error });
}

function recover({ logger, failing }: State, name: TaskName): void {
  if (failing.delete(name)) logger.info("task.recovered", { task: name });
}

function errorCode(error: unknown): string {
  if (error instanceof ApiError) return error.code;
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function pause({ after }: System, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = after(ms, end, { background: true });
    signal.addEventListener("abort", end);
  });
}

export interface FollowedSessions {
  readonly followAll: (follow: Follow) => AsyncIterable<EventGroup>;
}

/**
 * Work for `start` that passes every group of all sessions to `onGroup`. After an error it continues with the group
 * that `onGroup` has not finished, so that no group is skipped and none is passed on again after it was finished.
 */
export function followGroups(
  { followAll }: FollowedSessions,
  { after, signal }: Follow,
  onGroup: (group: EventGroup) => Promise<void> | void,
): TaskWork {
  let cursor = after;
  return async (onProgress) => {
    for await (const group of followAll({ after: cursor, signal })) {
      await onGroup(group);
      cursor = group.position;
      onProgress();
    }
  };
}
