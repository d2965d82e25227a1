/** What the writer of one session holds: the inputs that wait, its timers, and the error that blocks it. */
import type { Effect, SessionInput } from "../../core/input.ts";
import type { Session } from "../../core/session.ts";
import type { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { EventLog, SessionSettings } from "../log/contract.ts";
import type { Logger } from "../logger.ts";
import type { Redactor } from "../redact.ts";
import type { System, Timer } from "../system.ts";
import { type ClockOptions, openClock, type SessionClock } from "./clock.ts";
import { type Origin, type RecordState, startRecordState } from "./record.ts";
import type { StepScheduler } from "./step-scheduler.ts";
import type { WakeTimer } from "./wake-timer.ts";

export interface WriterOptions {
  readonly id: SessionId;
  readonly session: Session;
  readonly settings: () => SessionSettings;
  readonly log: EventLog;
  readonly scheduler: StepScheduler;
  readonly system: System;
  readonly redactor: Redactor;
  readonly logger: Logger;
  /** Performs one effect, after the group it belongs to was stored. */
  readonly perform: (effect: Effect) => void;
  /** The agent may send again. */
  readonly resume: () => void;
  /** A group was stored and its effects were performed. */
  readonly onStored: () => void;
  /** A bug of ours: the fold cannot be trusted any more. */
  readonly onBroken: (error: unknown) => void;
}

export type Entry = InputEntry | LinesEntry;

/** Lines of the agent that wait to be parsed and stepped. */
export interface LinesEntry {
  /** With "\n" between them. */
  readonly text: string;
  /** Where the first begins that was not stepped yet. */
  next: number;
  /** When they were read. */
  readonly at: number;
  /** There is something to redact in one of them. */
  readonly hasSecrets: boolean;
  readonly size: number;
}

export const isLines = (entry: Entry): entry is LinesEntry => "next" in entry;

/** An input that waits to be stepped. */
export interface InputEntry {
  readonly input: SessionInput;
  /** The agent's line it was parsed from, or null for every other input. */
  readonly origin: Origin | null;
  readonly size: number;
  /** Runs right before the input is stepped; when it throws, the input is refused. */
  readonly check: ((session: Session) => void) | null;
  readonly done: Waiter | null;
}

export interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface WriterState extends WriterOptions {
  readonly clock: SessionClock;
  readonly record: RecordState;
  readonly queue: Entry[];
  /** Bytes in the queue. */
  queued: number;
  /** More is queued than the agent may send ahead: it is held back. */
  behind: boolean;
  /** A group is being stepped or stored. */
  busy: boolean;
  /** Until then the agent's lines only gather; every other input is stepped at once. */
  gatherUntil: number;
  gatherTimer: Timer | null;
  storageError: ApiError | null;
  retries: number;
  retryTimer: Timer | null;
  /** Null until the writer is open. */
  wakeTimer: WakeTimer | null;
  readonly flushWaiters: Waiter[];
  /** Who waits for the group that is being stored. */
  readonly storedWaiters: Waiter[];
  closed: boolean;
  closedBy: unknown;
}

/**
 * Field by field: objects made by spreading have another hidden class in each session, and the engine would compile
 * the code that every line runs through anew for each.
 */
export function startWriterState(options: WriterOptions, onAhead: ClockOptions["onAhead"]): WriterState {
  return {
    id: options.id,
    session: options.session,
    settings: options.settings,
    log: options.log,
    scheduler: options.scheduler,
    system: options.system,
    redactor: options.redactor,
    logger: options.logger,
    perform: options.perform,
    resume: options.resume,
    onStored: options.onStored,
    onBroken: options.onBroken,
    clock: openClock({ from: Date.parse(options.session.snapshot().time) || 0, system: options.system, onAhead }),
    record: startRecordState(options.session.snapshot()),
    queue: [],
    queued: 0,
    behind: false,
    busy: false,
    gatherUntil: 0,
    gatherTimer: null,
    storageError: null,
    retries: 0,
    retryTimer: null,
    wakeTimer: null,
    flushWaiters: [],
    storedWaiters: [],
    closed: false,
    closedBy: null,
  };
}
