/**
 * Decides when the -wal file is checkpointed, which waits for the disk, twice. A small one is checkpointed in a quiet
 * moment; where there is none, a thread with a connection of its own does it (checkpoint-worker.ts).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { packageFolder } from "../../package-folder.ts";
import { checkpointWal } from "./checkpoint.ts";
import type { Database } from "./database.ts";
import { WAL_PAGES } from "./schema.ts";

/** After the last commit. */
const QUIET_MS = 250;
/** More commits than this are not checkpointed in a quiet moment but by the thread; one writes some pages of 8 KiB. */
const SMALL_COMMITS = 100;
/**
 * So many commits without a quiet moment start the thread. It costs 45 ms of a processor, and 5 ms of the main thread,
 * which is more than a short burst of deltas is worth.
 */
const BUSY_COMMITS = 1_000;
/** Appending checkpoints only what the thread cannot keep up with: 64 MiB. */
const WORKER_WAL_PAGES = 8_192;
/** A thread that has nothing to do is ended. */
const IDLE_MS = 10_000;
/** For a thread that is asked to end while it waits for the disk. */
const END_MS = 2_000;

export interface Checkpointer {
  /** Something was committed. */
  readonly touch: () => void;
  /** Ends the thread. */
  readonly stop: () => Promise<void>;
}

interface State {
  readonly database: Database;
  readonly file: string;
  worker: Worker | null;
  /** The thread could not be started: it is not tried again. */
  broken: boolean;
  /** The thread was asked and has not answered. */
  asked: boolean;
  commits: number;
  touchedAt: number;
  timer: NodeJS.Timeout | null;
}

export function openCheckpointer(database: Database, file: string): Checkpointer {
  const state: State = {
    database,
    file,
    worker: null,
    broken: false,
    asked: false,
    commits: 0,
    touchedAt: 0,
    timer: null,
  };
  checkpointAfter(database, WORKER_WAL_PAGES);
  return {
    touch() {
      state.touchedAt = performance.now();
      state.commits += 1;
      state.timer ??= setTimeout(() => look(state), QUIET_MS).unref();
      if (state.commits >= BUSY_COMMITS) askWorker(state);
    },
    async stop() {
      if (state.timer !== null) clearTimeout(state.timer);
      state.broken = true;
      await endWorker(state);
    },
  };
}

function look(state: State): void {
  const silent = performance.now() - state.touchedAt;
  const lookIn = (delayMs: number): void => {
    state.timer = setTimeout(() => look(state), delayMs).unref();
  };
  state.timer = null;
  if (silent < QUIET_MS) return lookIn(QUIET_MS - silent);
  if (state.commits > 0) {
    const isSmall = state.worker === null && state.commits <= SMALL_COMMITS;
    if (isSmall || !askWorker(state)) checkpointWal(state.database, "PASSIVE");
    state.commits = 0;
  }
  if (silent >= IDLE_MS) void endWorker(state);
  else if (state.worker !== null) lookIn(IDLE_MS - silent);
}

/** False where there is no thread. */
function askWorker(state: State): boolean {
  if (state.asked) return true;
  if (state.broken) return false;
  state.worker ??= startWorker(state);
  if (state.worker === null) return false;
  state.asked = true;
  state.commits = 0;
  state.worker.postMessage("checkpoint");
  return true;
}

function startWorker(state: State): Worker | null {
  const program = join(packageFolder(), "dist", "checkpoint-worker.js");
  if (!existsSync(program)) return giveUp(state);
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };
  const worker = new Worker(program, { workerData: { file: state.file }, resourceLimits });
  worker.unref();
  worker.on("message", () => {
    state.asked = false;
  });
  worker.on("error", () => giveUp(state));
  worker.on("exit", () => {
    if (state.worker !== worker) return;
    state.worker = null;
    state.asked = false;
  });
  return worker;
}

/** Without a thread, appending checkpoints what has become large. */
function giveUp(state: State): null {
  state.broken = true;
  checkpointAfter(state.database, WAL_PAGES);
  return null;
}

async function endWorker({ worker }: State): Promise<void> {
  if (worker === null) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => void worker.terminate(), END_MS);
    worker.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    worker.ref();
    worker.postMessage("close");
  });
}

function checkpointAfter(database: Database, pages: number): void {
  try {
    database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  } catch {
    // The database was closed meanwhile.
  }
}
