/** One child process in a group of its own: lines from its output, lines to its input, and an end that is sure. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync } from "node:fs";
import { Socket } from "node:net";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import type { Exit } from "../../core/agent-io.ts";
import { assert } from "../../core/fold.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { StderrExcerpt } from "../../protocol/events.ts";
import { type OverlongLine, splitText } from "./lines.ts";
import type { OutputPipe } from "./output-pipe.ts";
import { processTable } from "./process-table.ts";
import { endTree, type Rung, STOP_LADDER, SWEEP_LADDER, signalGroup, type TreeRoot } from "./process-tree.ts";

/** How much of stderr is kept from its beginning and from its end. */
const STDERR_EXCERPT_BYTES = 8 * 1024;
/** How much may wait for an agent that does not read its input. */
const INPUT_LIMIT = 64 * 1024 * 1024;
/** After the tree is gone nobody can write: how long the rest of the output may take to arrive. */
const OUTPUT_REST_MS = 2_000;

export interface AgentProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly runId: string;
  /** The command is the parent of the agent's program, and reports its exit code (`StartInView`). */
  readonly wrapped?: boolean;
  /** For its output; without one, Node makes a pair of sockets. It is the process's from then on. */
  readonly output?: OutputPipe | null;
  /** Complete lines with "\n" between them. */
  readonly onText: (text: string) => void;
  readonly onOverlong: (line: Omit<OverlongLine, "number">) => void;
  /** Once, when the process and its whole tree are gone and all its output was read. */
  readonly onExit: (exit: Exit) => void;
  /** Something of the tree could not be ended. */
  readonly onStuck: (pids: readonly number[]) => void;
}

export interface AgentProcess {
  readonly pid: number | null;
  readonly started: string | null;
  readonly write: (text: string) => void;
  readonly closeInput: () => void;
  readonly signal: (signal: NodeJS.Signals) => void;
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the whole tree by the ladder; `onExit` has been called when this resolves. */
  readonly stop: (ladder?: readonly Rung[]) => Promise<void>;
}

export function startProcess(options: AgentProcessOptions): AgentProcess {
  const { child, stdin, stdout } = spawnWith(options);
  const pid = child.pid ?? null;
  const started = pid === null ? null : processTable.startOf(pid);
  const root: TreeRoot = {
    runId: options.runId,
    leader: pid === null || started === null ? null : { pid, started },
    ours: true,
    wrapped: options.wrapped ?? false,
  };
  const stderr = keepExcerpt(child);
  const splitter = splitText({ onText: options.onText, onOverlong: options.onOverlong });
  stdout.on("data", splitter.push);

  const { directory, onStuck } = options;
  const onGone = (exit: Exit): void => {
    splitter.end();
    const excerpt = stderr();
    options.onExit(excerpt.total_lines === 0 ? exit : { ...exit, stderr: excerpt });
  };
  const ladderOfStop = (): Promise<readonly number[]> | null => stopping;
  const gone = untilGone({ child, stdout, root, directory, ladderOfStop, onStuck }).then(onGone, (error: unknown) =>
    onGone({ code: null, signal: null, message: String(error) }),
  );
  let stopping: Promise<readonly number[]> | null = null;

  return {
    pid,
    started,
    write(text) {
      if (!stdin.writable) return;
      stdin.write(text);
      if (stdin.writableLength > INPUT_LIMIT) stdin.destroy();
    },
    closeInput: () => stdin.end(),
    signal: (signal) => signalGroup(root, signal),
    pause: () => stdout.pause(),
    resume: () => stdout.resume(),
    async stop(ladder = STOP_LADDER) {
      stopping ??= endTree(root, ladder);
      const stuck = await stopping;
      if (stuck.length > 0) options.onStuck(stuck);
      // Nobody listens to a paused stream's end.
      stdout.resume();
      await gone;
    },
  };
}

function spawnWith({ command, args, directory, environment, output = null }: AgentProcessOptions) {
  const child = spawn(command, args, {
    cwd: directory,
    env: { ...environment },
    detached: true,
    stdio: ["pipe", output?.writer ?? "pipe", "pipe"],
  });
  // `untilGone` reports it. Without a handler, an error event ends the daemon.
  child.on("error", () => {});
  // Quirk: without a free file descriptor, Node gives the child no streams and emits the error later.
  if (child.pid === undefined && child.stdin == null) throw noDescriptor(command);
  const { stdin } = child;
  const stdout = output === null ? child.stdout : openReader(output.reader);
  // The process has it, or could not be started.
  if (output !== null) closeSync(output.writer);
  assert(stdin !== null && stdout !== null, "what is asked for as a pipe is one");
  // The exit shows what happened; a broken pipe adds nothing to it.
  for (const stream of [stdin, stdout, child.stderr]) stream?.on("error", () => {});
  return { child, stdin, stdout };
}

/** What a pipe of the system holds. All readers use the same memory: what is read is looked at before the next read. */
const CHUNK = Buffer.allocUnsafeSlow(64 * 1024);

/** A stream whose chunks are overwritten by the next: memory for each would be a third of what a flood allocates. */
function openReader(fd: number): Socket {
  const options = {
    fd,
    readable: true,
    writable: false,
    onread: { buffer: CHUNK, callback: (length: number) => stdout.emit("data", CHUNK.subarray(0, length)) },
  };
  const stdout = new Socket(options);
  // The exit event reports the cause.
  stdout.on("error", () => {});
  return stdout;
}

interface GoneOptions {
  readonly child: ChildProcess;
  readonly stdout: Readable;
  readonly root: TreeRoot;
  readonly directory: string;
  readonly ladderOfStop: () => Promise<readonly number[]> | null;
  readonly onStuck: (pids: readonly number[]) => void;
}

/** The process has exited, what it left behind was swept, and its output was read to the end. */
async function untilGone({ child, stdout, root, directory, ladderOfStop, onStuck }: GoneOptions): Promise<Exit> {
  const closed = Promise.all([child, stdout].map((one) => new Promise((resolve) => one.once("close", resolve))));
  const exit = await new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) =>
      resolve(child.pid === undefined ? notStarted(child, { error, directory }) : noExit(error)),
    );
  });
  if (child.pid === undefined) return exit;
  const stuck = await (ladderOfStop() ?? endTree(root, SWEEP_LADDER));
  if (stuck.length > 0) onStuck(stuck);
  await restOfOutput(stdout, closed);
  stdout.destroy();
  child.stderr?.destroy();
  return root.wrapped === true ? exitOfWrapped(exit) : exit;
}

/** Output that still arrives, or that we ourselves hold back, is waited for; a pipe that somebody keeps open is not. */
async function restOfOutput(stdout: Readable, closed: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const given = new Promise<void>((resolve) => {
    const rearm = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => (stdout.isPaused() ? rearm() : resolve()), OUTPUT_REST_MS);
    };
    stdout.on("data", rearm);
    rearm();
  });
  await Promise.race([closed, given]);
  clearTimeout(timer);
}

function notStarted(child: ChildProcess, { error, directory }: { error: Error; directory: string }): Exit {
  const missing = "code" in error && error.code === "ENOENT";
  // The system says the same for a program that is not there and for a directory that is not.
  if (missing && !existsSync(directory)) {
    const message = `The session's directory ${directory} is gone. Make it again, or start a session in another one.`;
    return { code: null, signal: null, message, error_code: "directory_not_found" };
  }
  const why = missing ? "there is no such program" : error.message;
  return {
    code: null,
    signal: null,
    message: `${child.spawnfile} could not be started: ${why}.`,
    error_code: missing ? "agent_not_installed" : "agent_exited",
  };
}

const noDescriptor = (command: string): ApiError =>
  new ApiError(
    "internal",
    `${command} could not be started: Franca has no free file descriptor (EMFILE). ` +
      "Raise the limit of open files (`ulimit -n`), or close sessions and clients.",
  );

const noExit = (error: Error): Exit => ({ code: null, signal: null, message: error.message });

/** Signals by the exit code with which a wrapper reports them, as shells do. */
const SIGNAL_OF_CODE: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [128 + number, name]),
);

/** The exit of the wrapped program: one that a signal ended has no code. */
function exitOfWrapped(exit: Exit): Exit {
  const signal = exit.code === null ? undefined : SIGNAL_OF_CODE.get(exit.code);
  return signal === undefined ? exit : { ...exit, code: null, signal };
}

/** Keeps the head and the tail of stderr and counts its lines, however much there is. */
function keepExcerpt(child: ChildProcess): () => StderrExcerpt {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let bytes = 0;
  let lines = 0;
  let endsInLine = false;
  child.stderr?.on("data", (chunk: Buffer) => {
    if (head.length < STDERR_EXCERPT_BYTES) {
      head = Buffer.concat([head, chunk.subarray(0, STDERR_EXCERPT_BYTES - head.length)]);
    }
    tail = Buffer.from(Buffer.concat([tail, chunk.subarray(-STDERR_EXCERPT_BYTES)]).subarray(-STDERR_EXCERPT_BYTES));
    bytes += chunk.length;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
    endsInLine = chunk.at(-1) !== 10;
  });
  return () => ({
    head: head.toString("utf8"),
    tail: bytes > STDERR_EXCERPT_BYTES ? tail.subarray(STDERR_EXCERPT_BYTES - bytes).toString("utf8") : "",
    truncated: bytes > 2 * STDERR_EXCERPT_BYTES,
    total_lines: lines + (endsInLine ? 1 : 0),
  });
}
