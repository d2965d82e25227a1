/**
 * Decides when the -wal file is checkpointed, which waits for the disk, twice. A small one is checkpointed in a quiet
 * moment; where there is none, a thread with a connection of its own does it beside the commits (checkpoint-worker.ts).
 *
 * The -wal file begins anew when all of it was moved and nobody has written meanwhile. Where commits leave no gap for
 * that, they are held back for one short checkpoint, once for each 64 MiB. Cutting the file, or a checkpoint of all
 * that by a commit, would make everybody wait ten times as long.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { packageFolder } from "../../package-folder.ts";
import type { EventGroup } from "../contract.ts";
import { checkpointWal } from "./checkpoint.ts";
import type { Database } from "./database.ts";
import { WAL_KEPT_BYTES, WAL_PAGES } from "./schema.ts";

/** After the last commit. */
const QUIET_MS = 250;
/** More commits than this are not checkpointed in a quiet moment but by the thread; one writes some pages. */
const SMALL_COMMITS = 100;
/**
 * So many commits without a quiet moment start the thread. It costs 45 ms of a processor, and 5 ms of the main thread,
 * which is more than a short burst of deltas is worth.
 */
const START_COMMITS = 1_000;
/** The thread is asked after so many commits, or bytes of events: the less it has to move, the less it disturbs. */
const ASK_COMMITS = 300;
const ASK_BYTES = 4 * 1024 * 1024;
/** From this length on, commits are held back so that the -wal file can begin anew. */
const LONG_PAGES = 4 * WAL_PAGES;
/** Commits are not held back longer, whatever the disk does. */
const LONGEST_HOLD_MS = 200;
/** Appending checkpoints only what the thread cannot keep up with. */
const WORKER_WAL_PAGES = 16 * WAL_PAGES;
/** A thread that has nothing to do is ended. */
const IDLE_MS = 10_000;
/** For a thread that is asked to end while it waits for the disk. */
const END_MS = 2_000;

/** What the thread is asked to do… */
export type Asked = "PASSIVE" | "TRUNCATE" | "close";

/** …and its answer: pages in the -wal file, and how many of them are in the main file now. */
export interface Checkpointed {
  readonly pages: number;
  readonly moved: number;
}

export interface Checkpointer {
  /** Something was committed. */
  readonly touch: (groups: readonly EventGroup[]) => void;
  /** Ends the thread. */
  readonly stop: () => Promise<void>;
}

/** Commits wait between the two calls. */
export interface Commits {
  readonly hold: () => void;
  readonly release: () => void;
}

export interface CheckpointerOptions {
  readonly database: Database;
  readonly file: string;
  readonly commits: Commits;
}

interface State extends CheckpointerOptions {
  worker: Worker | null;
  /** The thread could not be started: it is not tried again. */
  broken: boolean;
  /** The thread was asked and has not answered. */
  asked: boolean;
  /** Set while commits are held back, until it answers: they are released then. */
  held: NodeJS.Timeout | null;
  /** Holding them back is tried again from this length on: somebody else's reading may have kept it from succeeding. */
  longPages: number;
  commitsSince: number;
  bytesSince: number;
  touchedAt: number;
  timer: NodeJS.Timeout | null;
}

export function openCheckpointer(options: CheckpointerOptions): Checkpointer {
  const state: State = {
    ...options,
    worker: null,
    broken: false,
    asked: false,
    held: null,
    longPages: LONG_PAGES,
    commitsSince: 0,
    bytesSince: 0,
    touchedAt: 0,
    timer: null,
  };
  checkpointAfter(state, WORKER_WAL_PAGES);
  return {
    touch(groups) {
      state.touchedAt = performance.now();
      state.commitsSince += 1;
      for (const { size } of groups) state.bytesSince += size;
      state.timer ??= setTimeout(() => look(state), QUIET_MS).unref();
      if (isDue(state)) askWorker(state, "PASSIVE");
    },
    async stop() {
      if (state.timer !== null) clearTimeout(state.timer);
      state.broken = true;
      await endWorker(state);
    },
  };
}

const isDue = ({ worker, commitsSince, bytesSince }: State): boolean =>
  worker === null ? commitsSince >= START_COMMITS : commitsSince >= ASK_COMMITS || bytesSince >= ASK_BYTES;

function look(state: State): void {
  const silent = performance.now() - state.touchedAt;
  const lookIn = (delayMs: number): void => {
    state.timer = setTimeout(() => look(state), delayMs).unref();
  };
  state.timer = null;
  if (silent < QUIET_MS) return lookIn(QUIET_MS - silent);
  if (state.commitsSince > 0) {
    const isSmall = state.worker === null && state.commitsSince <= SMALL_COMMITS;
    if (isSmall || !askWorker(state, "PASSIVE")) checkpointWal(state.database, "PASSIVE");
    noteAsked(state);
  }
  if (state.worker === null) return;
  if (silent < IDLE_MS) return lookIn(IDLE_MS - silent);
  askWorker(state, "TRUNCATE");
  // One that does not end is left behind; the next checkpoint starts another.
  endWorker(state).catch(() => {});
}

function noteAsked(state: State): void {
  state.commitsSince = 0;
  state.bytesSince = 0;
}

/** False where there is no thread. */
function askWorker(state: State, how: Exclude<Asked, "close">): boolean {
  if (state.asked) return true;
  if (state.broken) return false;
  state.worker ??= startWorker(state);
  if (state.worker === null) return false;
  state.asked = true;
  noteAsked(state);
  state.worker.postMessage(how);
  return true;
}

function onAnswer(state: State, { pages, moved }: Checkpointed): void {
  state.asked = false;
  if (state.held !== null) {
    releaseCommits(state);
    if (moved === pages) state.longPages = LONG_PAGES;
  } else if (pages >= state.longPages && moved === pages) {
    state.longPages = 2 * pages;
    state.held = setTimeout(() => releaseCommits(state), LONGEST_HOLD_MS);
    state.commits.hold();
    askWorker(state, "PASSIVE");
  }
}

function releaseCommits(state: State): void {
  if (state.held === null) return;
  clearTimeout(state.held);
  state.held = null;
  state.commits.release();
}

function startWorker(state: State): Worker | null {
  const program = join(packageFolder(), "dist", "checkpoint-worker.js");
  if (!existsSync(program)) return giveUp(state);
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };
  const worker = new Worker(program, { workerData: { file: state.file }, resourceLimits });
  worker.unref();
  worker.on("message", (answer: Checkpointed) => onAnswer(state, answer));
  worker.on("error", () => giveUp(state));
  worker.on("exit", () => {
    if (state.worker !== worker) return;
    state.worker = null;
    state.asked = false;
    releaseCommits(state);
  });
  return worker;
}

/** Without a thread, appending checkpoints what has become large. */
function giveUp(state: State): null {
  state.broken = true;
  releaseCommits(state);
  checkpointAfter(state, WAL_PAGES);
  return null;
}

async function endWorker({ worker }: State): Promise<void> {
  if (worker === null) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => worker.terminate().catch(() => resolve()), END_MS);
    worker.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    worker.ref();
    worker.postMessage("close");
  });
}

/** After so many pages, a commit checkpoints; then the file is cut back to what it may keep. */
function checkpointAfter({ database }: State, pages: number): void {
  try {
    database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    // Cutting it takes as long as a checkpoint: while there is a thread, that is left for quiet moments.
    database.exec(`PRAGMA journal_size_limit = ${Math.ceil(pages / WAL_PAGES) * WAL_KEPT_BYTES}`);
  } catch {
    // The database was closed meanwhile.
  }
}
