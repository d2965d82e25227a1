/** One shell command in a process group of its own: heard while it runs, and gone with all it started when it ends. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { timeoutSignal } from "../timeout-signal.ts";
import { fullView, type SessionView } from "./file-view.ts";
import { processTable } from "./process-table.ts";
import { endTree, type Rung, type TreeRoot } from "./process-tree.ts";

/** After the shell is gone: how long its output may still arrive. */
const REST_MS = 500;
const STOP: readonly Rung[] = [{ signal: "SIGTERM", waitMs: 500 }];

export interface ShellCommand {
  readonly command: string;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** By this its processes are found; it is in the environment too. */
  readonly runId: string;
  /** The view of the file system in which it runs; absent: that of the user. */
  readonly view?: Pick<SessionView, "start">;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What it prints, both streams in the order they are read. */
  readonly onText: (text: string) => void;
  readonly onStarted?: (leader: { readonly pid: number; readonly started: string }) => void;
}

export interface ShellExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** Resolves when nothing of it runs any more; rejects when the shell could not be started. */
export async function runShell(options: ShellCommand): Promise<ShellExit> {
  options.signal.throwIfAborted();
  const { child, root } = await start(options);
  const decoders = [new StringDecoder("utf8"), new StringDecoder("utf8")];
  for (const [index, stream] of [child.stdout, child.stderr].entries()) {
    stream.on("data", (chunk: Buffer) => options.onText(decoders[index]?.write(chunk) ?? ""));
    stream.on("error", () => {});
  }
  const timer = timeoutSignal({ ms: options.timeoutMs });
  const stopped = AbortSignal.any([options.signal, timer]);
  let ending: Promise<unknown> | null = null;
  const onStop = (): void => {
    ending ??= endTree(root, STOP);
    // The caller that awaits it gets the error.
    ending.catch(() => {});
  };
  stopped.addEventListener("abort", onStop, { once: true });
  if (stopped.aborted) onStop();
  try {
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const exit = await new Promise<Pick<ShellExit, "code" | "signal">>((resolve, reject) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      child.once("error", reject);
    });
    await (ending ?? endTree(root, STOP));
    await Promise.race([closed, pause(REST_MS)]);
    return { ...exit, timedOut: timer.aborted };
  } finally {
    stopped.removeEventListener("abort", onStop);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

interface Started {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly root: TreeRoot;
}

async function start(options: ShellCommand): Promise<Started> {
  const { command, directory, environment, runId, onStarted, view = fullView, signal } = options;
  const bash = { command: "bash", args: ["-c", command], directory, path: environment.PATH };
  const started = await view.start(bash);
  signal.throwIfAborted();
  const child = spawn(started.command, started.args, {
    cwd: directory,
    env: { ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Without a handler, an error event ends the daemon.
  child.on("error", () => {});
  if (child.pid === undefined) throw await startError(child);
  const { pid } = child;
  const startTime = pid === undefined ? null : processTable.startOf(pid);
  const leader = pid === undefined || startTime === null ? null : { pid, started: startTime };
  if (leader !== null) onStarted?.(leader);
  return { child, root: { runId, leader, ours: true, wrapped: started.wrapped } };
}

/** Node emits it after `spawn` has returned. Without a free file descriptor, the child has no streams either. */
const startError = (child: ChildProcess): Promise<Error> => new Promise((resolve) => child.once("error", resolve));

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
