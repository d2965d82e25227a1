/**
 * The single writer of a session: inputs in, events to the log, effects to the agent. Each group of events is stored
 * before anybody sees it, and before any of its effects is performed.
 */
import type { Effect, SessionInput } from "../../core/input.ts";
import type { Session } from "../../core/session.ts";
import type { Command } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { Heard } from "../agent/connection/contract.ts";
import type { Append } from "../log/contract.ts";
import { openRecorder } from "./record.ts";
import { type Stepping, stepInput, stepLines } from "./step-entry.ts";
import type { StepJob } from "./step-scheduler.ts";
import { openWakeTimer } from "./wake-timer.ts";
import { entryFromAgent, redactInput, type UntimedInput } from "./writer-inputs.ts";
import {
  type Entry,
  type InputEntry,
  isLines,
  startWriterState,
  type Waiter,
  type WriterOptions,
  type WriterState,
} from "./writer-state.ts";
import { isPrompt, rejectWaiters, store } from "./writer-storage.ts";

/** One committed group holds about this much, so that a reader who wants one event need not read many. */
const GROUP_BYTES = 512 * 1024;
/**
 * While an agent floods us, its lines gather a little before they are stored: a commit costs about the same for few
 * lines as for many. The time grows with the lines of the last group, up to a limit.
 */
const GATHER_PER_LINE_MS = 0.1;
const LONGEST_GATHER_MS = 8;
/** Timers count milliseconds: a shorter wait would be this long, and a few lines are not worth it. */
const SHORTEST_GATHER_MS = 1;
/**
 * How much may be queued before lines are stepped at once, before the agent is held back, and when it may resume. Lines
 * that fill a group have nothing to wait for: their events are about as long as they are.
 */
const GATHERED_BYTES = GROUP_BYTES / 2;
const BEHIND_BYTES = 1024 * 1024;
const CAUGHT_UP_BYTES = 512 * 1024;

export interface Writer {
  readonly feed: (input: UntimedInput) => void;
  /** A line or a response of the agent; false when the session is behind. */
  readonly receive: (heard: Exclude<Heard, { type: "disconnected" }>) => boolean;
  /** Feeds an input and resolves when its events are stored. */
  readonly submit: (input: UntimedInput) => Promise<void>;
  /** The same for a command. `check` runs right before the command is stepped and may throw to refuse it. */
  readonly command: (command: Command, check?: (session: Session) => void) => Promise<void>;
  /** The error that blocks the session while the log cannot be written, or null. */
  readonly storageError: () => ApiError | null;
  readonly isBusy: () => boolean;
  /** Whether the session is ahead of the log: what a crash could lose is shown to nobody. */
  readonly isAhead: () => boolean;
  /** Resolves when it is not, for as long as the caller does not wait again; rejects when the log cannot be written. */
  readonly stored: () => Promise<void>;
  /** Resolves when every input so far is stored; rejects when the log cannot be written. */
  readonly flushed: () => Promise<void>;
  /** No further input; pending calls are rejected with `why`. */
  readonly close: (why?: unknown) => void;
}

export function openWriter(options: WriterOptions): Writer {
  const feedTimed = (input: SessionInput): void => push({ input, origin: null, size: 0, check: null, done: null });
  const state = startWriterState(options, (aheadMs, at) => feedTimed({ type: "clock", aheadMs, at }));
  const job: StepJob = { run: () => stepQueued(state, job) };
  const push = (entry: Entry): void => {
    if (state.closed) return isLines(entry) ? undefined : entry.done?.reject(state.closedBy);
    state.queue.push(entry);
    state.queued += entry.size;
    if (!state.busy) scheduleStep(state, { job, onlyLines: isOfAgent(entry) });
  };
  const timed = (input: UntimedInput): SessionInput => ({
    ...redactInput(state.redactor, input),
    at: state.clock.now(),
  });
  const submit = (input: UntimedInput, check: InputEntry["check"]): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const done = state.storageError === null ? { resolve, reject } : null;
      const entry = { input: timed(input), origin: null, size: 0, check, done };
      if (state.storageError !== null) reject(state.storageError);
      if (done !== null || isPrompt(entry)) push(entry);
    });
  const wakeTimer = openWakeTimer({
    clock: state.clock,
    system: state.system,
    wake: (at) => feedTimed({ type: "tick", at }),
  });
  // Nothing is due before the first input: a turn that a dead process left open is ended by `restarted`, not by time.
  state.wakeTimer = wakeTimer;
  return {
    feed: (input) => feedTimed(timed(input)),
    receive(heard) {
      push(entryFromAgent(state.redactor, heard, state.clock.now()));
      state.behind ||= state.queued > BEHIND_BYTES;
      return !state.behind;
    },
    submit: (input) => submit(input, null),
    command: (command, check) => submit({ type: "command", command }, check ?? null),
    storageError: () => state.storageError,
    isBusy: () => state.busy || state.queue.length > 0,
    isAhead: () => state.busy,
    stored: () => (state.busy ? waitIn(state, state.storedWaiters) : Promise.resolve()),
    flushed: () => (state.busy || state.queue.length > 0 ? waitIn(state, state.flushWaiters) : Promise.resolve()),
    close(why = new ApiError("session_not_found", `Session ${state.id} is closed.`)) {
      state.closed = true;
      state.closedBy = why;
      for (const entry of state.queue.splice(0)) if (!isLines(entry)) entry.done?.reject(why);
      rejectWaiters(state, why);
      wakeTimer.cancel();
      state.gatherTimer?.cancel();
      state.retryTimer?.cancel();
    },
  };
}

const waitIn = ({ storageError }: WriterState, waiters: Waiter[]): Promise<void> =>
  storageError === null
    ? new Promise((resolve, reject) => waiters.push({ resolve, reject }))
    : Promise.reject(storageError);

/** A line, or lines: everything else is stepped at once. */
const isOfAgent = (entry: Entry): boolean => isLines(entry) || entry.origin !== null;

interface Scheduling {
  readonly job: StepJob;
  /** Only lines of the agent are queued, and more may come at once. */
  readonly onlyLines: boolean;
}

function scheduleStep(state: WriterState, { job, onlyLines }: Scheduling): void {
  const wait = onlyLines && state.queued < GATHERED_BYTES ? state.gatherUntil - state.system.elapsed() : 0;
  if (wait <= 0) state.scheduler.schedule(job);
  else state.gatherTimer ??= state.system.after(wait, () => state.scheduler.schedule(job));
}

/** Steps the queued inputs, up to a group's size, and stores what follows from them. */
function stepQueued(state: WriterState, job: StepJob): void {
  if (state.busy || state.closed || state.queue.length === 0) return;
  state.busy = true;
  state.gatherTimer?.cancel();
  state.gatherTimer = null;
  const { id, session, redactor } = state;
  const recorder = openRecorder({
    id,
    settings: state.settings(),
    snapshot: session.snapshot,
    redactor,
    writer: state.log.openWriter(),
    state: state.record,
  });
  const effects: Effect[] = [];
  const { done, lines, ...stepped } = stepGroup(state, { session, recorder, redactor, effects });
  let { broken } = stepped;
  const gather = Math.min(lines * GATHER_PER_LINE_MS, LONGEST_GATHER_MS);
  state.gatherUntil = gather < SHORTEST_GATHER_MS ? 0 : state.system.elapsed() + gather;
  const after = (): void => {
    try {
      if (broken !== null) throw broken.error;
      onGroupStored(state, { effects, done, job });
    } catch (error) {
      for (const { reject } of done) reject(error);
      state.onBroken(error);
    }
  };
  let append: Append | null = null;
  try {
    if (broken === null) append = recorder.finish();
  } catch (error) {
    broken = { error };
  }
  if (append === null) after();
  else void store(state, { append, done, after });
}

interface SteppedGroup {
  /** Who waits for the group to be stored. */
  readonly done: readonly Waiter[];
  /** How many inputs it was made of. */
  readonly lines: number;
  readonly broken: { readonly error: unknown } | null;
}

function stepGroup(state: WriterState, stepping: Stepping): SteppedGroup {
  const done: Waiter[] = [];
  let lines = 0;
  let finished = 0;
  let broken: SteppedGroup["broken"] = null;
  for (const entry of state.queue) {
    if (isLines(entry)) {
      try {
        lines += stepLines(stepping, { entry, groupBytes: GROUP_BYTES });
      } catch (error) {
        broken = { error };
        break;
      }
      if (entry.next <= entry.text.length) break;
      finished += 1;
      state.queued -= entry.size;
    } else {
      finished += 1;
      lines += 1;
      state.queued -= entry.size;
      try {
        entry.check?.(stepping.session);
      } catch (error) {
        entry.done?.reject(error);
        continue;
      }
      try {
        stepInput(stepping, entry);
      } catch (error) {
        broken = { error };
        entry.done?.reject(error);
        break;
      }
      if (entry.done !== null) done.push(entry.done);
    }
    if (stepping.recorder.size() >= GROUP_BYTES) break;
  }
  state.queue.splice(0, finished);
  return { done, lines, broken };
}

interface StoredGroup {
  readonly effects: readonly Effect[];
  readonly done: readonly Waiter[];
  readonly job: StepJob;
}

function onGroupStored(state: WriterState, { effects, done, job }: StoredGroup): void {
  for (const effect of effects) state.perform(effect);
  for (const { resolve } of done) resolve();
  state.busy = false;
  for (const { resolve } of state.storedWaiters.splice(0)) resolve();
  if (!state.closed) state.wakeTimer?.set(state.session.wakeAt());
  if (state.behind && state.queued <= CAUGHT_UP_BYTES) {
    state.behind = false;
    state.resume();
  }
  if (state.queue.length > 0) {
    scheduleStep(state, { job, onlyLines: state.queue.every(isOfAgent) });
  } else for (const { resolve } of state.flushWaiters.splice(0)) resolve();
  state.onStored();
}
