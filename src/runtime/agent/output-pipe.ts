/**
 * Pipes for the output of agents. What Node gives a child is a pair of sockets, which takes a buffer of the system for
 * each line that is written. A pipe packs lines into pages, as in a shell: a flood takes a fifth less time in both
 * processes. Node cannot make one, but it can open the two ends of a named one, which loses its name at once.
 */
import { execFile } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** The two ends, as file descriptors. */
export interface OutputPipe {
  readonly reader: number;
  readonly writer: number;
}

/** So many are made at a time: making them starts a program. */
const MADE = 4;

const run = promisify(execFile);
const ready: OutputPipe[] = [];
let making: Promise<void> | null = null;
let isAvailable = process.platform !== "win32";

/** Null where there are none: then a pair of sockets does. */
export async function openOutputPipe(): Promise<OutputPipe | null> {
  if (ready.length === 0 && isAvailable) await make();
  const pipe = ready.shift() ?? null;
  if (ready.length === 0 && isAvailable) {
    make().catch(() => {
      isAvailable = false;
    });
  }
  return pipe;
}

export function closeOutputPipe({ reader, writer }: OutputPipe): void {
  closeSync(reader);
  closeSync(writer);
}

function make(): Promise<void> {
  making ??= makeNamed()
    .catch(() => {
      isAvailable = false;
    })
    .finally(() => {
      making = null;
    });
  return making;
}

async function makeNamed(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "franca-pipes-"));
  try {
    const paths = Array.from({ length: MADE }, (_, index) => join(folder, String(index)));
    await run("mkfifo", ["-m", "600", ...paths]);
    for (const path of paths) ready.push(openEnds(path));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function openEnds(path: string): OutputPipe {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(reader);
    throw error;
  }
}
