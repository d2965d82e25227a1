/** `franca run`: one prompt, its turn on the terminal, and an exit code that says how it ended. */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { defined } from "../core/defined.ts";
import { ApiError } from "../protocol/errors.ts";
import { type EventOf, PermissionMode } from "../protocol/events.ts";
import type { CreateSession } from "../protocol/resources.ts";
import { type AnswerRule, openAnswering } from "./answering.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { formats, type Output, openFormat, TERMINAL } from "./output.ts";
import { onSignals } from "./signals.ts";
import { settleTrust } from "./trust.ts";
import { UsageError } from "./usage.ts";

/** After SIGTERM: interrupt at once, terminate and kill so many milliseconds later. */
const STOP_LADDER = { terminateMs: 500, killMs: 1200 };

/** How many events are read at a time. */
const PAGE = 1_000;

const MAX_PROMPT_BYTES = 10 * 1024 * 1024;

interface RunFlags {
  readonly agent?: string;
  readonly model?: string;
  readonly variant?: string;
  readonly mode?: string;
  readonly permissionMode?: PermissionMode;
  readonly dir?: string;
  readonly format: string;
  readonly resume?: string;
  readonly autoApprove?: true;
  readonly deny?: true;
  readonly finishTodos?: true;
  readonly baseUrl?: string;
  readonly trust?: true;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("[prompt...]", "what to ask; read from standard input when absent or `-`")
    .option("--agent <agent>", "which agent (FRANCA_DEFAULT_AGENT, else mock)")
    .option("--model <model>", "the agent's model; its own configuration decides when absent")
    .option("--variant <variant>", "the model's variant or effort")
    .option("--mode <mode>", "the agent's mode")
    .addOption(new Option("--permission-mode <mode>", "what needs asking").choices(PermissionMode.options))
    .option("--dir <folder>", "where the agent works", ".")
    .addOption(new Option("--format <format>", "what is printed").choices(formats).default(TERMINAL))
    .option("--resume <id>", "go on with this session, by Franca's id or the agent's own")
    .addOption(new Option("--auto-approve", "allow whatever the agent asks for").conflicts("deny"))
    .option("--deny", "reject whatever the agent asks for")
    .option("--finish-todos", "let the turn go on while todos are open, within bounds (docs/continuation.md)")
    .option("--trust", "trust the folder: the agent may use its settings, hooks, plugins and MCP servers")
    .option("--base-url <url>", "for the builtin agent: where its model's provider is")
    .addHelpText(
      "after",
      `
Examples:
  $ franca run -- echo hello
  $ franca run --agent claude -- "Read README.md and add a line at the end"
  $ git diff | franca run --agent codex --deny
  $ franca run --agent claude --format universal -- "What is in this folder?" | jq .type

Exit codes: 0 completed, 1 otherwise, 2 wrong usage, 130 after Ctrl-C.`,
    )
    .action((words: string[], flags: RunFlags) => run(words, flags));
}

async function run(words: readonly string[], flags: RunFlags): Promise<void> {
  const prompt = await promptText(words);
  const env = process.env;
  const { defaultAgent } = await loadSettings({ flags: { ...flags }, env });
  const output = await openFormat(flags.format, {
    stdout: process.stdout,
    stderr: process.stderr,
    color: process.stdout.isTTY && env.NO_COLOR === undefined,
    prompts: false,
    agent: flags.agent ?? defaultAgent,
    resume: flags.resume,
  });
  if (output === null) throw new UsageError(`--format ${flags.format} is not known.`);
  try {
    const session = await runPrompt({ prompt, flags, agent: flags.agent ?? defaultAgent, output });
    concludeIn(output, null);
    if (flags.format === TERMINAL) output.say(`session ${session} · go on with: franca run --resume ${session} -- …`);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    if (!concludeIn(output, problem)) throw error;
    output.say(problem);
  }
}

/** Readers that wait for a last output take an exit code for a failure of ours: it is 0 once that was written. */
function concludeIn(output: Output, problem: string | null): boolean {
  const concluded = output.end(problem);
  if (concluded) process.exitCode = 0;
  return concluded;
}

interface Prompting {
  readonly prompt: string;
  readonly flags: RunFlags;
  readonly agent: string;
  readonly output: Output;
}

async function runPrompt({ prompt, flags, agent, output }: Prompting): Promise<string> {
  const door = await openDoor({ flags: { ...flags }, env: process.env, stop: STOP_LADDER });
  try {
    await settleTrust({ door, agent, directory: resolve(flags.dir ?? "."), trust: flags.trust === true });
    const { session, made } = await sessionFor({ door, flags, agent });
    await runTurn({ door, session, made, prompt, rule: answerRule(flags), output });
    // Before the agent is stopped, which takes its time.
    output.end(null);
    return session;
  } finally {
    await door.close();
  }
}

interface Turn {
  readonly door: Door;
  readonly session: string;
  /** It was made for this prompt: all of its events are of interest. */
  readonly made: boolean;
  readonly prompt: string;
  readonly rule: AnswerRule;
  readonly output: Output;
}

async function runTurn({ door, session, made, prompt, rule, output }: Turn): Promise<EventOf<"turn.ended"> | null> {
  const stopping = new AbortController();
  const abort = (): void => void door.abort(session).catch((error: unknown) => output.say(String(error)));
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts += 1;
    process.exitCode = 130;
    if (interrupts > 2) process.exit(130);
    if (interrupts > 1) return stopping.abort();
    output.say("Stopping the turn; press Ctrl-C again to quit.");
    answering.stop();
    abort();
  };
  const answering = openAnswering({ door, session, rule, output, onCancel: interrupt });
  // Kept when the turn is over: the agent is still to be stopped then.
  onSignals({
    interrupt,
    terminate: () => {
      answering.stop();
      abort();
      // The agent is gone by then; whatever has not been said by its turn will not be.
      // Counted from the kill, which comes late where the machine is busy.
      setTimeout(() => setTimeout(() => stopping.abort(), 400).unref(), STOP_LADDER.killMs).unref();
    },
  });
  try {
    const { promptId, sequence } = await door.prompt(session, prompt);
    if (!made) await learnPast({ door, session, output, upTo: sequence });
    let turnId: string | null = null;
    for await (const event of door.follow(session, { after: made ? 0 : sequence, signal: stopping.signal })) {
      if (event.type === "turn.started" && event.data.prompt_id === promptId) turnId = event.data.turn_id;
      // A session that is busy with something else runs the prompt later; until then nothing of it is ours to show.
      if (turnId === null && !made) {
        output.learn?.(event);
        continue;
      }
      output.event(event);
      answering.see(event);
      if (event.type === "turn.ended" && event.turn_id === turnId) {
        if (interrupts === 0) process.exitCode = event.data.reason === "completed" ? 0 : 1;
        return event;
      }
    }
    if (interrupts === 0) process.exitCode = 1;
    return null;
  } finally {
    answering.stop();
  }
}

interface Past extends Pick<Turn, "door" | "session" | "output"> {
  readonly upTo: number;
}

async function learnPast({ door, session, output, upTo }: Past): Promise<void> {
  const { learn } = output;
  if (learn === undefined) return;
  for (let offset = 0; offset < upTo; ) {
    const { events } = await door.events(session, { offset, limit: Math.min(PAGE, upTo - offset), includeRaw: false });
    if (events.length === 0) return;
    for (const event of events) learn(event);
    offset += events.length;
  }
}

interface Choice {
  readonly door: Door;
  readonly flags: RunFlags;
  readonly agent: string;
}

/** A session to go on with, or a new one. An id that only the agent knows is taken over under an id of ours. */
async function sessionFor({ door, flags, agent }: Choice): Promise<{ session: string; made: boolean }> {
  const { resume } = flags;
  if (resume !== undefined) {
    const known = (await door.list({ q: resume })).find(({ sessionId, nativeSessionId }) =>
      [sessionId, nativeSessionId].includes(resume),
    );
    if (known !== undefined) return { session: known.sessionId, made: false };
    if (flags.agent === undefined) {
      throw new ApiError(
        "session_not_found",
        `There is no session ${resume}. To take over an agent's own, name it: --agent.`,
      );
    }
  }
  const id = randomUUID();
  const created = await door.create(id, createOptions({ flags, agent }));
  if (!created.healthy) throw new ApiError("stream_error", created.error ?? `${agent} could not be started.`);
  return { session: id, made: true };
}

function createOptions({ flags, agent }: Omit<Choice, "door">): CreateSession {
  const { model, variant, mode, permissionMode, dir, resume } = flags;
  return {
    agent,
    directory: resolve(dir ?? "."),
    ...defined({
      model,
      variant,
      agentMode: mode,
      permissionMode,
      nativeSessionId: resume,
      finishTodos: flags.finishTodos === undefined ? undefined : true,
    }),
  };
}

function answerRule({ autoApprove, deny }: RunFlags): AnswerRule {
  if (autoApprove === true) return "approve";
  if (deny === true) return "deny";
  return process.stdin.isTTY && process.stderr.isTTY ? "ask" : "absent";
}

async function promptText(words: readonly string[]): Promise<string> {
  const given = words.join(" ");
  if (given.trim() !== "" && given !== "-") return given;
  if (process.stdin.isTTY) throw new UsageError('There is no prompt. Try: franca run -- "echo hello"');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_PROMPT_BYTES) throw new UsageError(`The prompt is longer than ${MAX_PROMPT_BYTES} bytes.`);
    chunks.push(bytes);
  }
  const text = Buffer.concat(chunks).toString("utf8").trim();
  if (text === "") throw new UsageError('There is no prompt. Try: franca run -- "echo hello"');
  return text;
}
