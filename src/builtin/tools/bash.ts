/** bash: a shell command, heard while it runs; what it prints is bounded, and kept in a file where it is too long. */
import { createWriteStream, type WriteStream } from "node:fs";
import * as z from "zod";
import { RUN_VARIABLE, SESSION_VARIABLE } from "../../runtime/agent/environment.ts";
import { runShell, type ShellExit } from "../../runtime/agent/shell-command.ts";
import { OUTPUT_LIMIT, outputFile, shortened } from "./bound.ts";
import { permitCommand } from "./permits.ts";
import { defineTool, type ToolContext, type ToolOutcome } from "./tool.ts";

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** The file with the full text stops growing here. */
const FILE_LIMIT = 64 * 1024 * 1024;

export const bash = defineTool({
  name: "bash",
  kind: "command",
  description:
    "Runs a shell command in the working directory and returns its output and exit code. No input can be given. " +
    `It is stopped after timeout milliseconds (${DEFAULT_TIMEOUT_MS} unless given, at most ${MAX_TIMEOUT_MS}); ` +
    "whatever it leaves running is stopped when it ends. Use the other tools to read, search and change files.",
  input: z.object({
    command: z.string().min(1).describe("The command"),
    description: z.string().optional().describe("What it does, in a few words"),
    timeout: z.number().int().min(1).optional().describe("Milliseconds after which it is stopped"),
  }),
  title: ({ command, description }) => description ?? command,
  async run({ command, timeout }, context) {
    await permitCommand(context, command);
    context.signal.throwIfAborted();
    return runCommand(context, { command, timeoutMs: Math.min(timeout ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS) });
  },
});

async function runCommand(
  context: ToolContext,
  { command, timeoutMs }: { command: string; timeoutMs: number },
): Promise<ToolOutcome> {
  const runId = await context.processes.begin();
  const output = collect(context);
  try {
    const exit = await runShell({
      command,
      directory: context.directory,
      environment: { ...context.environment, [SESSION_VARIABLE]: context.sessionId, [RUN_VARIABLE]: runId },
      runId,
      view: context.view,
      timeoutMs,
      signal: context.signal,
      onText: output.add,
    });
    const text = await output.end();
    if (context.signal.aborted) return { output: withNote(text, "stopped"), is_error: true };
    return outcome({ exit, text, timeoutMs });
  } finally {
    await output.end();
    context.processes.ended(runId);
  }
}

interface Output {
  readonly add: (text: string) => void;
  /** The text for the model. May be called again. */
  readonly end: () => Promise<string>;
}

/** Keeps head and tail in memory, streams the head, and writes everything to a file once it is too long. */
function collect(context: ToolContext): Output {
  let text = "";
  let total = 0;
  let file: Promise<{ path: string; stream: WriteStream } | null> | null = null;
  const openKept = async (): Promise<{ path: string; stream: WriteStream } | null> => {
    try {
      const path = await outputFile(context);
      const stream = createWriteStream(path, { mode: 0o600 });
      stream.on("error", () => {});
      return { path, stream };
    } catch {
      // Without a place to keep it the output is only shortened.
      return null;
    }
  };
  const keep = (chunk: string): void => {
    if (total > FILE_LIMIT) return;
    file = (file ?? openKept()).then((opened) => {
      opened?.stream.write(chunk);
      return opened;
    });
  };
  return {
    add(chunk) {
      if (chunk === "") return;
      const room = OUTPUT_LIMIT - total;
      if (room > 0) context.emit(chunk.slice(0, room));
      if (total <= OUTPUT_LIMIT && total + chunk.length > OUTPUT_LIMIT) keep(text);
      total += chunk.length;
      if (total > OUTPUT_LIMIT) keep(chunk);
      text += chunk;
      // The middle is in the file; what is shown needs only both ends.
      if (text.length > 4 * OUTPUT_LIMIT) text = text.slice(0, OUTPUT_LIMIT) + text.slice(-OUTPUT_LIMIT);
    },
    async end() {
      const opened = file === null ? null : await file;
      if (opened !== null && !opened.stream.writableEnded) {
        await new Promise<void>((resolve) => opened.stream.end(() => resolve()));
      }
      if (total <= OUTPUT_LIMIT) return text;
      return shortened({ text, total, path: opened?.path ?? "no file: it could not be kept" });
    },
  };
}

interface Ended {
  readonly exit: ShellExit;
  readonly text: string;
  readonly timeoutMs: number;
}

function outcome({ exit, text, timeoutMs }: Ended): ToolOutcome {
  if (exit.timedOut) return { output: withNote(text, `stopped: it ran longer than ${timeoutMs} ms`), is_error: true };
  const { code } = exit;
  if (code === 0) return { output: text === "" ? NOTHING : text, exit_code: 0 };
  if (code === null) return { output: withNote(text, `ended by ${exit.signal ?? "a signal"}`), is_error: true };
  return { output: withNote(text, `exit code ${code}`), is_error: true, exit_code: code };
}

const NOTHING = "(no output)";

function withNote(text: string, note: string): string {
  const said = text === "" ? NOTHING : text;
  return `${said}${said.endsWith("\n") ? "\n" : "\n\n"}(${note})`;
}
