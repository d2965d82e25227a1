/**
 * Searches files for a caller's regular expression. It may run for ever, so it runs in a thread that can be ended; the
 * daemon never waits for it, and never compiles it either.
 */
import { Worker } from "node:worker_threads";
import { timeoutSignal } from "./timeout-signal.ts";

export interface Match {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

export interface PlacedMatch extends Match {
  /** Where the line begins in the file, in bytes. */
  readonly offset: number;
  /** What matched in the shown text. */
  readonly parts: readonly { readonly text: string; readonly start: number }[];
}

export interface SearchOptions {
  readonly root: string;
  readonly files: readonly string[];
  readonly pattern: string;
  /** Lines found before the search stops. */
  readonly limit: number;
  /** Characters of a line that are shown. */
  readonly lineLength: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type Searched =
  /** `complete` is false when the time was over between two files. */
  | { readonly type: "found"; readonly matches: readonly PlacedMatch[]; readonly complete: boolean }
  | { readonly type: "unreadable"; readonly message: string }
  /** The expression itself took too long, or too much. */
  | { readonly type: "stopped" };

/** Larger files are data. */
const FILE_LIMIT_BYTES = 5 * 1024 * 1024;
const HEAP_MB = 256;
/** Threads at the same time; later searches wait. */
const THREADS = 4;
/** How long a thread that should have stopped by itself is given. */
const STUCK_MS = 500;

/** Plain JavaScript: it is handed to the thread as it stands, however the rest was compiled. */
const program = `
const { parentPort, workerData } = require("node:worker_threads");
const { closeSync, constants, fstatSync, openSync, readFileSync } = require("node:fs");
const { join } = require("node:path");
const { root, files, pattern, limit, fileLimit, lineLength, timeoutMs } = workerData;
const until = performance.now() + timeoutMs;
const matches = [];

function textOf(path) {
  const file = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = fstatSync(file);
    if (!info.isFile() || info.size > fileLimit) return "";
    const text = readFileSync(file, "utf8");
    return text.slice(0, 8192).includes("\\0") ? "" : text;
  } finally {
    closeSync(file);
  }
}

function search(path, { expression, every }) {
  let text = "";
  try {
    text = textOf(path);
  } catch {
    return;
  }
  let offset = 0;
  for (const [index, raw] of text.split("\\n").entries()) {
    if (matches.length >= limit) return;
    const line = raw.endsWith("\\r") ? raw.slice(0, -1) : raw;
    if (expression.test(line)) {
      const shown = line.slice(0, lineLength);
      const parts = [...shown.matchAll(every)].map((part) => ({ text: part[0], start: part.index }));
      matches.push({ path, line: index + 1, text: shown, offset, parts: parts.filter(({ text }) => text !== "") });
    }
    offset += Buffer.byteLength(raw) + 1;
  }
}

function run() {
  let expressions;
  try {
    expressions = { expression: new RegExp(pattern), every: new RegExp(pattern, "g") };
  } catch (error) {
    return { type: "unreadable", message: error.message };
  }
  for (const path of files) {
    if (matches.length >= limit) break;
    if (performance.now() > until) return { type: "found", matches, complete: false };
    search(path, expressions);
  }
  return { type: "found", matches, complete: true };
}
parentPort.postMessage(run());
`;

export async function searchFiles(options: SearchOptions): Promise<Searched> {
  const { signal, timeoutMs } = options;
  await takeThread(signal);
  try {
    return await runThread(options, timeoutSignal({ signal, ms: timeoutMs + STUCK_MS }));
  } finally {
    giveThread();
  }
}

async function runThread(options: SearchOptions, ended: AbortSignal): Promise<Searched> {
  const { root, files, pattern, limit, lineLength, timeoutMs, signal } = options;
  ended.throwIfAborted();
  const workerData = { root, files, pattern, limit, fileLimit: FILE_LIMIT_BYTES, lineLength, timeoutMs };
  const worker = new Worker(program, { eval: true, workerData, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
  const stop = (): void => void worker.terminate();
  ended.addEventListener("abort", stop, { once: true });
  try {
    const searched = await new Promise<Searched>((resolve, reject) => {
      worker.once("message", (found: Searched) => resolve(found));
      worker.once("error", (error) => (isOutOfMemory(error) ? resolve({ type: "stopped" }) : reject(error)));
      worker.once("exit", () => resolve({ type: "stopped" }));
    });
    signal.throwIfAborted();
    return searched;
  } finally {
    ended.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";

let free = THREADS;
const waiting: (() => void)[] = [];

async function takeThread(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (free > 0) {
    free -= 1;
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      waiting.splice(waiting.indexOf(take), 1);
      reject(signal.reason);
    };
    const take = (): void => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    waiting.push(take);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Handed on to the first who waits. */
function giveThread(): void {
  const next = waiting.shift();
  if (next === undefined) free += 1;
  else next();
}
