/**
 * Runs one session: inputs in, events to the log, effects to the agent. The only place where they meet, and the one
 * writer: each batch is stored before anyone hears of it, and before anything is done about it.
 */
import type { Effect, SessionInput } from "../../core/input.ts";
import type { Session } from "../../core/session.ts";
import type { Command } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Heard } from "../agent/connection/contract.ts";
import type { Append, EventLog, SessionSettings } from "../log/contract.ts";
import type { Logger } from "../logger.ts";
import type { Redactor } from "../redact.ts";
import { type Origin, openBatch, type Pace, startPace } from "./record.ts";
import type { Ticker } from "./ticker.ts";

/** One committed group holds about this much, so that a reader who wants one event need not read many. */
const GROUP_BYTES = 256 * 1024;
/**
 * While an agent floods us, lines are gathered a little before they are stored: a commit costs about the same for few
 * lines as for many. So long for each line of the last group, and never longer than that.
 */
const REST_PER_LINE_MS = 0.1;
const LONGEST_REST_MS = 4;
/** How much may wait to be stepped before nobody rests, before the agent is held back, and when it may go on. */
const GATHERED_BYTES = 512 * 1024;
const BEHIND_BYTES = 1024 * 1024;
const CAUGHT_UP_BYTES = 512 * 1024;
/** What a waiting line takes besides its text, about: many short ones are not to fill memory either. */
const ENTRY_BYTES = 512;
/** A log that cannot be written is tried again, at first soon. */
const RETRY_FIRST_MS = 100;
const RETRY_LONGEST_MS = 2_000;
/** Timers cannot wait longer; a later wake-up is set again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface DriveOptions {
  readonly id: SessionId;
  readonly session: Session;
  readonly settings: () => SessionSettings;
  readonly log: EventLog;
  readonly ticker: Ticker;
  readonly redactor: Redactor;
  readonly logger: Logger;
  /** Does one effect, after its batch was stored. */
  readonly perform: (effect: Effect) => void;
  /** The agent may go on. */
  readonly resume: () => void;
  /** A batch was stored and its effects were done. */
  readonly onStored: () => void;
  /** Our own mistake: the fold cannot be trusted any more. */
  readonly onBroken: (error: unknown) => void;
}

export interface Drive {
  readonly feed: (input: SessionInput) => void;
  /** A line or a response of the agent; false when the session is behind. */
  readonly hear: (heard: Exclude<Heard, { type: "disconnected" }>) => boolean;
  /** Resolves when what follows from it is stored. */
  readonly put: (input: SessionInput) => Promise<void>;
  /** The same for a command. `check` looks right before it is taken and may throw. */
  readonly ask: (command: Command, check?: (session: Session) => void) => Promise<void>;
  /** The storage error that holds the session up, or null. */
  readonly stuck: () => ApiError | null;
  readonly isBusy: () => boolean;
  /** Resolves when all that was fed is stored; rejects when the log cannot be written. */
  readonly settled: () => Promise<void>;
  /** Nothing is taken any more; whoever waits is told why. */
  readonly close: (why?: unknown) => void;
}

interface Entry {
  readonly input: SessionInput;
  readonly origin: Origin | null;
  readonly size: number;
  readonly check: ((session: Session) => void) | null;
  readonly done: Waiter | null;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface State extends DriveOptions {
  readonly pace: Pace;
  readonly queue: Entry[];
  queued: number;
  behind: boolean;
  busy: boolean;
  /** Until then lines only gather; whatever else comes does not wait. */
  restUntil: number;
  restTimer: NodeJS.Timeout | null;
  stuckOn: ApiError | null;
  retries: number;
  retryTimer: NodeJS.Timeout | null;
  wakeTimer: NodeJS.Timeout | null;
  wakeTime: number;
  readonly settled: Waiter[];
  closed: boolean;
  closedBy: unknown;
}

export function openDrive(options: DriveOptions): Drive {
  const state = startState(options);
  const beating = { beat: () => beat(state, beating) };
  const push = (entry: Entry): void => {
    if (state.closed) return entry.done?.reject(state.closedBy);
    state.queue.push(entry);
    state.queued += entry.size;
    if (!state.busy) begin(state, { beating, gathers: entry.origin !== null });
  };
  const put = (input: SessionInput, check: Entry["check"]): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      if (state.stuckOn !== null) return reject(state.stuckOn);
      push({ input: clean(state, input), origin: null, size: 0, check, done: { resolve, reject } });
    });
  schedule(state, push);
  return {
    feed: (input) => push({ input: clean(state, input), origin: null, size: 0, check: null, done: null }),
    hear(heard) {
      push(entryOf(state, heard));
      state.behind ||= state.queued > BEHIND_BYTES;
      return !state.behind;
    },
    put: (input) => put(input, null),
    ask: (command, check) => put({ type: "command", command, at: Date.now() }, check ?? null),
    stuck: () => state.stuckOn,
    isBusy: () => state.busy || state.queue.length > 0,
    settled: () =>
      new Promise<void>((resolve, reject) => {
        if (state.stuckOn !== null) reject(state.stuckOn);
        else if (!state.busy && state.queue.length === 0) resolve();
        else state.settled.push({ resolve, reject });
      }),
    close(why = new ApiError("session_not_found", `Session ${state.id} is closed.`)) {
      state.closed = true;
      state.closedBy = why;
      for (const { done } of state.queue.splice(0)) done?.reject(why);
      for (const { reject } of state.settled.splice(0)) reject(why);
      if (state.wakeTimer !== null) clearTimeout(state.wakeTimer);
      if (state.restTimer !== null) clearTimeout(state.restTimer);
      if (state.retryTimer !== null) clearTimeout(state.retryTimer);
    },
  };
}

/**
 * Field by field: objects made by spreading differ in the engine's eyes from session to session, and the code that
 * every line runs through would be compiled anew for each.
 */
function startState(options: DriveOptions): State {
  return {
    id: options.id,
    session: options.session,
    settings: options.settings,
    log: options.log,
    ticker: options.ticker,
    redactor: options.redactor,
    logger: options.logger,
    perform: options.perform,
    resume: options.resume,
    onStored: options.onStored,
    onBroken: options.onBroken,
    pace: startPace(options.session.snapshot()),
    queue: [],
    queued: 0,
    behind: false,
    busy: false,
    restUntil: 0,
    restTimer: null,
    stuckOn: null,
    retries: 0,
    retryTimer: null,
    wakeTimer: null,
    wakeTime: Number.POSITIVE_INFINITY,
    settled: [],
    closed: false,
    closedBy: null,
  };
}

interface Beginning {
  readonly beating: { readonly beat: () => void };
  /** What waits is nothing but lines of the agent, of which more may come at once. */
  readonly gathers: boolean;
}

function begin(state: State, { beating, gathers }: Beginning): void {
  const rest = gathers && state.queued < GATHERED_BYTES ? state.restUntil - performance.now() : 0;
  if (rest <= 0) state.ticker.mark(beating);
  else state.restTimer ??= setTimeout(() => state.ticker.mark(beating), rest);
}

/** Steps what has arrived, up to a group's size, and stores what came of it. */
function beat(state: State, beating: { readonly beat: () => void }): void {
  if (state.busy || state.closed || state.queue.length === 0) return;
  state.busy = true;
  if (state.restTimer !== null) clearTimeout(state.restTimer);
  state.restTimer = null;
  const { id, session, redactor, pace } = state;
  const batch = openBatch({ id, settings: state.settings(), snapshot: session.snapshot, redactor, pace });
  const effects: Effect[] = [];
  const done: Waiter[] = [];
  let taken = 0;
  let broken: { readonly error: unknown } | null = null;
  for (const entry of state.queue) {
    taken += 1;
    state.queued -= entry.size;
    try {
      entry.check?.(session);
    } catch (error) {
      entry.done?.reject(error);
      continue;
    }
    try {
      const output = session.step(entry.input);
      batch.add(output, entry.origin);
      for (const effect of output.effects) effects.push(effect);
    } catch (error) {
      broken = { error };
      entry.done?.reject(error);
      break;
    }
    if (entry.done !== null) done.push(entry.done);
    if (batch.size() >= GROUP_BYTES) break;
  }
  state.queue.splice(0, taken);
  state.restUntil = performance.now() + Math.min(taken * REST_PER_LINE_MS, LONGEST_REST_MS);
  const after = (): void => {
    try {
      if (broken !== null) throw broken.error;
      conclude(state, { effects, done, beating });
    } catch (error) {
      for (const { reject } of done) reject(error);
      state.onBroken(error);
    }
  };
  let append: Append | null = null;
  try {
    if (broken === null) append = batch.finish();
  } catch (error) {
    broken = { error };
  }
  if (append === null) after();
  else void store(state, { append, done, after });
}

interface Storing {
  readonly append: Append;
  readonly done: readonly Waiter[];
  readonly after: () => void;
}

/** Until it is stored nothing else happens in this session: the agent waits, the callers are told. */
async function store(state: State, storing: Storing): Promise<void> {
  try {
    await state.log.append(storing.append);
  } catch (error) {
    if (!state.closed) return hold(state, { storing, error });
    for (const { reject } of storing.done) reject(error);
    return;
  }
  if (state.stuckOn !== null) state.logger.info("log.recovered", { session: state.id });
  state.stuckOn = null;
  state.retries = 0;
  storing.after();
}

function hold(state: State, { storing, error }: { storing: Storing; error: unknown }): void {
  if (!(error instanceof ApiError) || error.code !== "storage_error") {
    for (const { reject } of storing.done) reject(error);
    state.onBroken(error);
    return;
  }
  if (state.stuckOn === null) state.logger.error("log.failed", { session: state.id, error });
  state.stuckOn = error;
  for (const { reject } of storing.done) reject(error);
  refuseWaiting(state, error);
  for (const { reject } of state.settled.splice(0)) reject(error);
  const delay = Math.min(RETRY_FIRST_MS * 2 ** state.retries, RETRY_LONGEST_MS);
  state.retries += 1;
  state.retryTimer = setTimeout(() => void store(state, { ...storing, done: [] }), delay);
}

/** Callers whose turn has not come are told too. What they asked is not done later; only prompts are, being stored. */
function refuseWaiting(state: State, error: ApiError): void {
  const waiting = state.queue.splice(0);
  for (const entry of waiting) {
    entry.done?.reject(error);
    const isPrompt = entry.input.type === "command" && entry.input.command.type === "prompt";
    if (entry.done === null) state.queue.push(entry);
    else if (isPrompt) state.queue.push({ ...entry, done: null });
  }
}

interface Concluding {
  readonly effects: readonly Effect[];
  readonly done: readonly Waiter[];
  readonly beating: { readonly beat: () => void };
}

function conclude(state: State, { effects, done, beating }: Concluding): void {
  for (const effect of effects) state.perform(effect);
  for (const { resolve } of done) resolve();
  state.busy = false;
  schedule(state, (entry) => {
    state.queue.push(entry);
    state.ticker.mark(beating);
  });
  if (state.behind && state.queued <= CAUGHT_UP_BYTES) {
    state.behind = false;
    state.resume();
  }
  if (state.queue.length > 0) begin(state, { beating, gathers: state.queue.every(({ origin }) => origin !== null) });
  else for (const { resolve } of state.settled.splice(0)) resolve();
  state.onStored();
}

/** One timer a session. It is left alone when the moment only moves away, which it does with every line. */
function schedule(state: State, push: (entry: Entry) => void): void {
  const at = state.session.wakeAt();
  if (state.closed || at === null || at >= state.wakeTime) return;
  if (state.wakeTimer !== null) clearTimeout(state.wakeTimer);
  state.wakeTime = at;
  const wake = (): void => {
    state.wakeTimer = null;
    state.wakeTime = Number.POSITIVE_INFINITY;
    const input = { type: "tick" as const, at: Date.now() };
    push({ input, origin: null, size: 0, check: null, done: null });
  };
  const delay = Math.min(Math.max(0, at - Date.now()), LONGEST_TIMER_MS);
  state.wakeTimer = setTimeout(wake, delay).unref();
}

function entryOf({ redactor }: State, heard: Exclude<Heard, { type: "disconnected" }>): Entry {
  const at = Date.now();
  switch (heard.type) {
    case "line": {
      const origin = redactor.line(heard);
      const input = { type: "line" as const, from: "agent" as const, line: origin.value, at };
      return { input, origin, size: origin.text.length + ENTRY_BYTES, check: null, done: null };
    }
    case "unreadable": {
      const text = redactor.text(heard.text);
      const input = { type: "unreadable" as const, text, error: redactor.text(heard.error), at };
      return { input, origin: null, size: text.length, check: null, done: null };
    }
    case "response": {
      const { id, status } = heard;
      const input = { type: "response" as const, id, status, body: redactor.value(heard.body), at };
      return { input, origin: null, size: 0, check: null, done: null };
    }
  }
}

/** What a process leaves behind is told, without what we hold. */
function clean({ redactor }: State, input: SessionInput): SessionInput {
  if (input.type !== "disconnected") return input;
  const { stderr, message, ...exit } = input.exit;
  return {
    ...input,
    exit: {
      ...exit,
      ...(message === undefined ? {} : { message: redactor.text(message) }),
      ...(stderr === undefined
        ? {}
        : { stderr: { ...stderr, head: redactor.text(stderr.head), tail: redactor.text(stderr.tail) } }),
    },
  };
}
