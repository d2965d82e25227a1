/**
 * Searching without ripgrep. Regular expressions of a model may run for ever, so they run in a thread that can be
 * ended; the daemon never waits for them.
 */
import { Worker } from "node:worker_threads";
import { ToolFailure } from "./tool.ts";

export interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface SearchOptions {
  readonly root: string;
  readonly files: readonly string[];
  readonly pattern: string;
  readonly limit: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Larger files are data. */
const FILE_LIMIT_BYTES = 5 * 1024 * 1024;
const LINE_LENGTH = 500;
const HEAP_MB = 256;

/** Plain JavaScript: it is handed to the thread as it stands, however the rest was compiled. */
const program = `
const { parentPort, workerData } = require("node:worker_threads");
const { closeSync, constants, fstatSync, openSync, readFileSync } = require("node:fs");
const { join } = require("node:path");
const { root, files, pattern, limit, fileLimit, lineLength } = workerData;
const expression = new RegExp(pattern);
const matches = [];
for (const path of files) {
  if (matches.length > limit) break;
  let text;
  try {
    const file = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const info = fstatSync(file);
      if (!info.isFile() || info.size > fileLimit) continue;
      text = readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch {
    continue;
  }
  if (text.slice(0, 8192).includes("\\0")) continue;
  const lines = text.split("\\n");
  for (let index = 0; index < lines.length && matches.length <= limit; index += 1) {
    if (expression.test(lines[index])) {
      matches.push({ path, line: index + 1, text: lines[index].replace(/\\r$/, "").slice(0, lineLength) });
    }
  }
}
parentPort.postMessage(matches);
`;

/** One more match than the limit tells that there are more. */
export async function searchFiles(options: SearchOptions): Promise<readonly Match[]> {
  const { root, files, pattern, limit, timeoutMs, signal } = options;
  signal.throwIfAborted();
  checkPattern(pattern);
  const worker = new Worker(program, {
    eval: true,
    workerData: { root, files, pattern, limit, fileLimit: FILE_LIMIT_BYTES, lineLength: LINE_LENGTH },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const timer = AbortSignal.timeout(timeoutMs);
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  timer.addEventListener("abort", stop, { once: true });
  try {
    const matches = await new Promise<readonly Match[] | null>((resolve, reject) => {
      worker.once("message", (found: readonly Match[]) => resolve(found));
      worker.once("error", reject);
      worker.once("exit", () => resolve(null));
    });
    if (matches !== null) return matches;
    signal.throwIfAborted();
    throw new ToolFailure(`The search was stopped after ${timeoutMs / 1_000} s. Use a simpler pattern or fewer files.`);
  } finally {
    signal.removeEventListener("abort", stop);
    timer.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function checkPattern(pattern: string): void {
  try {
    new RegExp(pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolFailure(`The pattern cannot be read: ${why}.`);
  }
}
