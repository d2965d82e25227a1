/**
 * A person's own commands, for agents that run none for them: in the session's directory, as part of the session's
 * process tree, and only in a folder that a person has trusted.
 */
import type { Effect } from "../../core/input.ts";
import { ApiError } from "../../protocol/errors.ts";
import { childEnvironment } from "../agent/environment.ts";
import { runShell } from "../agent/shell-command.ts";
import type { OpenSession } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";
import type { UntimedInput } from "./writer-inputs.ts";

/** How long a command may run. */
const TIMEOUT_MS = 3_600_000;
/** What is kept of its output: the beginning and the end. */
const OUTPUT_LIMIT = 30_000;
const HEAD = 18_000;

/** Throws unless a person's command may run: nothing asks before it does. */
export function refuseShell({ trust }: Runtime, { id, settings, session }: OpenSession): void {
  const { mode, permission_mode } = session.snapshot();
  if (mode === "plan" || permission_mode === "plan") {
    throw new ApiError("not_supported", `Session ${id} is in plan mode: it runs no commands. Leave plan mode first.`);
  }
  const { directory = process.cwd() } = settings.create;
  if (trust.isTrusted(directory)) return;
  throw new ApiError(
    "folder_not_trusted",
    `${directory} is not trusted, so no commands run there: franca trust add ${directory}`,
  );
}

export function startShell(
  runtime: Runtime,
  open: OpenSession,
  { turn_id, command }: Extract<Effect, { type: "shell" }>,
): void {
  const stopped = new AbortController();
  let silent = false;
  const feed = (input: UntimedInput): void => {
    if (!silent) open.writer.feed(input);
  };
  const ended = run(runtime, open, { turn_id, command, signal: stopped.signal, feed });
  ended.catch((error: unknown) => runtime.logger.error("shell.failed", { session: open.id, error }));
  open.shell = {
    async stop({ silently }) {
      silent = silently;
      stopped.abort();
      await ended;
    },
  };
}

interface Running extends Omit<Extract<Effect, { type: "shell" }>, "type"> {
  readonly signal: AbortSignal;
  readonly feed: (input: UntimedInput) => void;
}

/** Never rejects: whatever happens is how the command ended. */
async function run(runtime: Runtime, open: OpenSession, { turn_id, command, signal, feed }: Running): Promise<void> {
  const output = openOutput((delta) => feed({ type: "shell.output", turn_id, delta }));
  const end = (exit_code: number | null, note: string | null): void => {
    open.shell = null;
    feed({ type: "shell.ended", turn_id, output: output.whole(note), exit_code, stopped: signal.aborted });
  };
  try {
    const exit = await inRun(runtime, open, { command, signal, onText: output.add });
    if (signal.aborted) end(null, "stopped");
    else if (exit.timedOut) end(null, `stopped after ${TIMEOUT_MS} ms`);
    else end(exit.code, exit.signal === null ? null : `ended by ${exit.signal}`);
  } catch (error) {
    end(null, `could not be run: ${error instanceof Error ? error.message : error}`);
  }
}

async function inRun(
  { runs, options }: Runtime,
  { id, settings }: OpenSession,
  command: { readonly command: string; readonly signal: AbortSignal; readonly onText: (text: string) => void },
) {
  const { create } = settings;
  const runId = await runs.begin(id);
  try {
    return await runShell({
      ...command,
      directory: create.directory ?? process.cwd(),
      environment: childEnvironment({
        inherited: process.env,
        pass: options.passEnv ?? [],
        launch: {},
        // Not the agent's keys: what a command prints is shown to the agent.
        session: { ...create.env },
        sessionId: id,
        runId,
      }),
      runId,
      timeoutMs: TIMEOUT_MS,
      onStarted: (leader) => runs.started(runId, leader),
    });
  } finally {
    runs.ended(runId);
  }
}

interface Output {
  readonly add: (text: string) => void;
  /** What is kept of it, with a remark at its end. */
  readonly whole: (note: string | null) => string;
}

function openOutput(emit: (delta: string) => void): Output {
  let text = "";
  let total = 0;
  return {
    add(chunk) {
      const room = OUTPUT_LIMIT - total;
      if (room > 0 && chunk !== "") emit(chunk.slice(0, room));
      total += chunk.length;
      text += chunk;
      if (text.length > 4 * OUTPUT_LIMIT) text = text.slice(0, OUTPUT_LIMIT) + text.slice(-OUTPUT_LIMIT);
    },
    whole(note) {
      const said = total <= OUTPUT_LIMIT ? text : shortened({ text, total });
      if (note === null) return said;
      return `${said}${said === "" || said.endsWith("\n") ? "" : "\n"}(${note})`;
    },
  };
}

const shortened = ({ text, total }: { text: string; total: number }): string =>
  `${text.slice(0, HEAD)}\n[… ${total - OUTPUT_LIMIT} characters left out …]\n${text.slice(HEAD - OUTPUT_LIMIT)}`;
