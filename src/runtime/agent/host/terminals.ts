/** Commands that an agent runs through us: each a process tree in the run book, its output bounded. */
import { type ChildProcess, spawn } from "node:child_process";
import type { HostCall } from "../../../core/host-call.ts";
import { findPlace, realDirectory } from "../../confine.ts";
import type { SessionView } from "../file-view.ts";
import { processTable } from "../process-table.ts";
import { endTree, type TreeRoot } from "../process-tree.ts";
import { type Answer, done, refused } from "./answer.ts";

/** Open terminals of one agent, and output kept of each. */
const TERMINALS_LIMIT = 32;
const OUTPUT_LIMIT = 1024 * 1024;
/** After the command is gone: how long its output may still arrive. */
const REST_MS = 500;

const STOP = [{ signal: "SIGTERM", waitMs: 500 }] as const;

/** Where each process tree is written down. */
export interface Runs {
  readonly started: (runId: string, leader: { readonly pid: number; readonly started: string }) => void;
  readonly ended: (runId: string) => void;
}

export interface TerminalsOptions {
  readonly directory: string;
  readonly begin: () => Promise<string>;
  readonly runs: Runs;
  readonly environmentFor: (run: {
    readonly runId: string;
    readonly launch: Readonly<Record<string, string>>;
  }) => Readonly<Record<string, string>>;
  /** What an untrusted folder needs; it wins over what the agent asks for. */
  readonly folderEnvironment: Readonly<Record<string, string>>;
  readonly view: Pick<SessionView, "start">;
}

interface Exited {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

interface Terminal {
  readonly root: TreeRoot;
  readonly output: Output;
  readonly ended: Promise<Exited>;
  exit: Exited | null;
}

export type TerminalCall = Extract<HostCall, { type: `terminal.${string}` }>;

export interface Terminals {
  readonly perform: (call: TerminalCall) => Promise<Answer>;
  /** Ends them all. */
  readonly stop: () => Promise<void>;
}

export function openTerminals(options: TerminalsOptions): Terminals {
  const terminals = new Map<string, Terminal>();
  let count = 0;
  return {
    async perform(call) {
      if (call.type === "terminal.create") {
        if (terminals.size >= TERMINALS_LIMIT) return refused(429, `There are ${TERMINALS_LIMIT} open terminals.`);
        count += 1;
        const id = `term_${count}`;
        const created = await create(options, call);
        if ("status" in created) return created;
        terminals.set(id, created);
        return done({ terminalId: id });
      }
      const terminal = terminals.get(call.terminal);
      if (terminal === undefined) return refused(404, `There is no terminal ${call.terminal}.`);
      if (call.type === "terminal.release") terminals.delete(call.terminal);
      return performOn(terminal, call.type);
    },
    async stop() {
      const all = [...terminals.values()];
      terminals.clear();
      await Promise.all(all.map(({ root }) => endTree(root, STOP)));
    },
  };
}

async function performOn(terminal: Terminal, type: Exclude<TerminalCall["type"], "terminal.create">): Promise<Answer> {
  switch (type) {
    case "terminal.output":
      return done({
        output: terminal.output.text(),
        truncated: terminal.output.truncated(),
        ...(terminal.exit === null ? {} : { exitStatus: terminal.exit }),
      });
    case "terminal.wait":
      return done(await terminal.ended);
    case "terminal.kill":
    case "terminal.release":
      if (terminal.exit === null) await endTree(terminal.root, STOP);
      return done({});
  }
}

type Create = Extract<TerminalCall, { type: "terminal.create" }>;

async function create(options: TerminalsOptions, call: Create): Promise<Terminal | Answer> {
  const directory = await realDirectory(options.directory);
  const cwd = call.cwd === null ? null : await findPlace(directory, call.cwd);
  if (cwd !== null && !cwd.inside) return refused(403, `${call.cwd} is outside the session's folder.`);
  const runId = await options.begin();
  const launch = { ...call.env, ...options.folderEnvironment };
  const env = { ...options.environmentFor({ runId, launch }), ...options.folderEnvironment };
  const folder = cwd?.path ?? directory;
  const asked = { command: call.command, args: call.args, directory: folder, path: env.PATH };
  const program = await options.view.start(asked).catch((error: unknown) => {
    options.runs.ended(runId);
    throw error;
  });
  const child = spawn(program.command, program.args, {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // `untilEnded` reports it. Without a handler, an error event ends the daemon.
  child.on("error", () => {});
  const { pid } = child;
  const started = pid === undefined ? null : processTable.startOf(pid);
  const leader = pid === undefined || started === null ? null : { pid, started };
  if (leader !== null) options.runs.started(runId, leader);
  const root: TreeRoot = { runId, leader, ours: true, wrapped: program.wrapped };
  const output = collect(child, Math.min(call.outputByteLimit ?? OUTPUT_LIMIT, OUTPUT_LIMIT));
  const ended = untilEnded({ child, root, output }).finally(() => options.runs.ended(runId));
  const terminal: Terminal = { root, output, ended, exit: null };
  const note = (exit: Exited): void => {
    terminal.exit = exit;
  };
  // For the agent, a tree that could not be ended is over. The guard still tracks it.
  ended.then(note, () => note({ exitCode: null, signal: null }));
  return terminal;
}

interface Ending {
  readonly child: ChildProcess;
  readonly root: TreeRoot;
  readonly output: Output;
}

/** What it leaves running ends with it. */
async function untilEnded({ child, root, output }: Ending): Promise<Exited> {
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exit = await new Promise<Exited>((resolve) => {
    child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    child.once("error", (error) => {
      output.add(Buffer.from(`${error.message}\n`));
      resolve({ exitCode: 127, signal: null });
    });
  });
  await endTree(root, STOP);
  await Promise.race([closed, pause(REST_MS)]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return exit;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

interface Output {
  readonly add: (chunk: Buffer) => void;
  readonly text: () => string;
  readonly truncated: () => boolean;
}

/** The latest output, cut at its beginning where it is too much, never within a character. */
function collect(child: ChildProcess, limit: number): Output {
  let kept = Buffer.alloc(0);
  let isCut = false;
  const add = (chunk: Buffer): void => {
    kept = Buffer.concat([kept, chunk]);
    if (kept.length <= limit) return;
    isCut = true;
    let from = kept.length - limit;
    while (from < kept.length && ((kept[from] ?? 0) & 0xc0) === 0x80) from += 1;
    kept = kept.subarray(from);
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", add);
    stream?.on("error", () => {});
  }
  return { add, text: () => kept.toString("utf8"), truncated: () => isCut };
}
