/** The owner's side of the guard (program.ts): started with the first process tree, informed until each is gone. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { defined } from "../../core/defined.ts";
import type { Logger } from "../logger.ts";
import { packageFolder } from "../package-folder.ts";
import type { ProcessIdentity } from "../process-identity.ts";
import { applyLine, type GuardedRuns, type GuardLine, linesOf } from "./lines.ts";

/** A guard that dies is replaced, but not for ever: something on this machine may not want it. */
const STARTS = 4;

export interface Guard {
  readonly begin: (run: string) => void;
  readonly started: (run: string, leader: ProcessIdentity) => void;
  readonly ended: (run: string) => void;
  /** Agents may run until then (of `performance.now()`); the guard ends them if this is not renewed. */
  readonly renew: (deadline: number) => void;
  /** The guard ends what is still running, then itself. */
  readonly close: () => void;
}

interface State {
  readonly runs: GuardedRuns;
  readonly logger: Logger;
  child: ChildProcess | null;
  starts: number;
  /** Null where nothing needs to be renewed. */
  deadline: number | null;
  closed: boolean;
}

export function openGuard(logger: Logger): Guard {
  const state: State = { runs: new Map(), logger, child: null, starts: 0, deadline: null, closed: false };
  const send = (line: GuardLine): void => {
    applyLine(state.runs, line);
    // A new guard is given everything, this line too.
    if (state.child === null) start(state);
    else write(state.child, line);
  };
  return {
    begin: (run) => send({ type: "begin", run }),
    started: (run, leader) => send({ type: "started", run, leader }),
    ended: (run) => send({ type: "ended", run }),
    renew(deadline) {
      state.deadline = deadline;
      if (state.child !== null) writeDeadline(state.child, deadline);
    },
    close() {
      state.closed = true;
      state.child?.stdin?.end();
    },
  };
}

function start(state: State): void {
  if (state.closed || state.runs.size === 0 || state.starts === STARTS) return;
  state.starts += 1;
  const program = join(packageFolder(), "dist", "guard.js");
  if (!existsSync(program)) {
    state.logger.warn("guard.not_found", { program });
    return;
  }
  const child = spawn(process.execPath, [program], {
    // A session of its own: neither the terminal's Ctrl-C nor a signal to the owner's group reaches it.
    detached: true,
    cwd: "/",
    // None of the owner's secrets. `ps` is found on PATH, files of launches in TMPDIR.
    env: defined({ PATH: process.env.PATH, TMPDIR: process.env.TMPDIR }),
    stdio: ["pipe", "ignore", "ignore"],
  });
  state.child = child;
  child.on("error", (error) => {
    state.logger.warn("guard.failed", { error });
    // One that was never started does not exit either.
    if (child.pid === undefined && state.child === child) state.child = null;
  });
  child.once("exit", (code, signal) => {
    if (state.child !== child) return;
    state.child = null;
    if (state.closed) return;
    state.logger.warn("guard.exited", { pid: child.pid, code, signal });
    start(state);
  });
  // Without a free file descriptor it has no streams: the next run tries again.
  if (child.pid === undefined) {
    state.child = null;
    return;
  }
  child.stdin.on("error", () => {});
  // The owner ends when it has nothing else to do.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  for (const line of linesOf(state.runs)) write(child, line);
  if (state.deadline !== null) writeDeadline(child, state.deadline);
  state.logger.debug("guard.started", { pid: child.pid });
}

const writeDeadline = (child: ChildProcess, deadline: number): void =>
  write(child, { type: "renewed", forMs: Math.max(0, deadline - performance.now()) });

const write = ({ stdin }: ChildProcess, line: GuardLine): void => void stdin?.write(`${JSON.stringify(line)}\n`);
