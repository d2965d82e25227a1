/** `franca run`: one prompt, its turn on the terminal, and an exit code that says how it ended. */
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { relative, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { MOCK } from "../core/default-agent.ts";
import { defined } from "../core/defined.ts";
import { visible } from "../core/visible.ts";
import { ApiError } from "../protocol/errors.ts";
import type { PermissionMode } from "../protocol/events.ts";
import { permissionModes } from "../protocol/permission-modes.ts";
import type { CreateSession, SessionSummary } from "../protocol/resources.ts";
import type { Worktree } from "../protocol/workspaces.ts";
import type { AnswerRule } from "./answering.ts";
import { addBudgetOptions, type BudgetFlags, budgetFrom } from "./budget-flags.ts";
import { type LoadedSettings, loadSettings } from "./config.ts";
import { addDoorOptions, commandOption, type Door, namedAgent, openDoor } from "./door.ts";
import { placeOptions, programName } from "./invocation.ts";
import { linkFor, sessionPlace } from "./open.ts";
import { JSON_RESULT, type Output, openFormat, TERMINAL } from "./output.ts";
import { agentFor } from "./run-agent.ts";
import { attachmentsFrom, promptText } from "./run-prompt.ts";
import { runTurn, STOP_LADDER } from "./run-turn.ts";
import { hideDataOption } from "./serve-options.ts";
import { findSession, shortId } from "./session-id.ts";
import { settleTrust } from "./trust.ts";
import { CommandError, UsageError } from "./usage.ts";

interface RunFlags extends BudgetFlags {
  readonly agent?: string;
  readonly command?: string;
  readonly model?: string;
  readonly variant?: string;
  readonly mode?: string;
  readonly permissionMode?: PermissionMode;
  readonly dir?: string;
  readonly file?: readonly string[];
  readonly image?: readonly string[];
  readonly title?: string;
  readonly format: string;
  readonly json?: true;
  readonly quiet?: true;
  readonly verbose?: true;
  readonly continue?: true;
  readonly resume?: string;
  readonly autoApprove?: true;
  readonly deny?: true;
  readonly finishTodos?: true;
  readonly baseUrl?: string;
  readonly trust?: true;
  readonly worktree?: true | string;
  readonly delegate?: true;
  readonly hideData?: string;
}

export function define(command: Command): void {
  const list = (value: string, former: string[] | undefined): string[] => [...(former ?? []), value];
  addDoorOptions(
    addBudgetOptions(command)
      .argument("[prompt...]", "what to ask; standard input is added to it, or read instead when absent or `-`")
      .option("-a, --agent <agent>", "the agent (default: the configured one, else the only one that can run)")
      .addOption(commandOption())
      .option("-m, --model <model>", "the agent's model (default: as the agent is configured)")
      .option("--variant <variant>", "the model's variant or effort")
      .option("-d, --dir <folder>", "the folder the agent works in", ".")
      .option("-c, --continue", "continue this folder's last session")
      .addOption(
        new Option(
          "-r, --resume <id>",
          "continue this session: Franca's id, its beginning, or the agent's id",
        ).conflicts("continue"),
      )
      .option("-f, --file <path>", "send a file with the prompt (repeatable)", list)
      .option("--image <path>", "send a picture with the prompt (repeatable)", list)
      .option("--title <title>", "the session's title (default: the beginning of its first prompt)")
      .option("--mode <mode>", "the agent's mode")
      .addOption(new Option("--permission-mode <mode>", "approval policy").choices(permissionModes))
      .addOption(new Option("--auto-approve", "allow whatever the agent asks for").conflicts("deny"))
      .option("--deny", "reject whatever the agent asks for")
      .option("--trust", "trust the folder: the agent may use its settings, hooks, plugins and MCP servers")
      .addOption(
        new Option(
          "--worktree [branch]",
          "work in a new git worktree, on this branch or one of its own; write -- before the prompt",
        ).conflicts(["continue", "resume"]),
      )
      .option("--finish-todos", "let the turn continue while todos are open, within bounds (docs/continuation.md)")
      .option("--delegate", "let the agent ask other agents, through the MCP server franca (docs/mcp.md)")
      .addOption(hideDataOption())
      .option("--base-url <url>", "for the builtin agent: the address of the model's provider", parseUrl)
      .option("--format <format>", "what is printed: text, universal, or what franca convert writes", TERMINAL)
      .addOption(
        new Option("--json", "print one JSON object at the end: text, usage, reason, session").conflicts("format"),
      )
      .addOption(new Option("-q, --quiet", "print only the answer").conflicts("verbose"))
      .option("-v, --verbose", "also print what tools printed and changed"),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ franca run "What does this project do?"
  $ franca run -a claude "Read README.md and add a line at the end"
  $ franca run -c "Now run the tests"
  $ git diff | franca run -a codex "Review this change"
  $ franca run --command "my-agent --acp" "What is in this folder?"
  $ franca run --json "What is in this folder?" | jq -r .text

Exit codes: 0 completed, 1 otherwise, 2 wrong usage, 130 after Ctrl-C.`,
    )
    .action((words: string[], flags: RunFlags) => run(words, flags));
}

function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError("It must be an address like http://127.0.0.1:8000.");
}

/** Without `--` the first word of a prompt is taken for the branch. */
const branchHint = ({ worktree }: RunFlags): string | undefined =>
  typeof worktree === "string"
    ? `There is no prompt: --worktree took "${worktree}" for its branch. Write -- before the prompt.`
    : undefined;

async function run(words: readonly string[], given: RunFlags): Promise<void> {
  const flags = { ...given, ...defined({ agent: namedAgent(given) }) };
  const attachments = attachmentsFrom(flags);
  const prompt = await promptText(words, defined({ hint: branchHint(flags) }));
  const settings = await loadSettings({ flags: { ...flags }, env: process.env });
  const format = flags.json === true ? JSON_RESULT : flags.format;
  const output = await openFormat(format, {
    stdout: process.stdout,
    stderr: process.stderr,
    color: process.stdout.isTTY && process.env.NO_COLOR === undefined,
    prompts: false,
    detail: flags.quiet === true ? "quiet" : flags.verbose === true ? "verbose" : "normal",
    agent: flags.agent ?? settings.defaultAgent ?? MOCK,
    resume: flags.resume,
  });
  try {
    const isSpoken = format === TERMINAL && flags.quiet !== true;
    const session = await runPrompt({ prompt, attachments, flags, settings, output, isSpoken });
    concludeIn(output, null);
    if (isSpoken) output.say(resumeHint(session, flags));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    if (!concludeIn(output, problem)) throw error;
    output.say(problem);
  }
}

const resumeHint = (session: string, flags: RunFlags): string =>
  `session ${shortId(session)} · continue it with: ${programName(process)} run${placeOptions({ ...flags })} -r ${shortId(session)} "…"`;

/** Readers that wait for a last output take an exit code for a failure of ours: it is 0 once that was written. */
function concludeIn(output: Output, problem: string | null): boolean {
  const concluded = output.end(problem);
  if (concluded) process.exitCode = 0;
  return concluded;
}

interface Prompting {
  readonly prompt: string;
  readonly attachments: ReturnType<typeof attachmentsFrom>;
  readonly flags: RunFlags;
  readonly settings: LoadedSettings;
  readonly output: Output;
  /** Whether notes for a person are printed. */
  readonly isSpoken: boolean;
}

async function runPrompt(asked: Prompting): Promise<string> {
  const { prompt, attachments, flags, settings, output, isSpoken } = asked;
  const door = await openDoor({ flags: { ...flags }, env: process.env, stop: STOP_LADDER });
  try {
    if (door.url !== null && flags.hideData !== undefined) {
      throw new UsageError("--hide-data is a setting of the daemon, and one runs: franca daemon start --hide-data …");
    }
    const known = await formerSession(door, flags);
    const { agent, directory, model } = known ?? (await newSession(door, { flags, settings, output }));
    await settleTrust({ door, agent, directory, trust: flags.trust === true });
    if (isSpoken) output.say(heading({ agent, directory, model: flags.model ?? model }));
    output.setDirectory?.(directory);
    const created =
      known === null ? await create(door, createOptions({ flags, agent, directory, env: door.sessionEnv })) : null;
    const session = known?.sessionId ?? created?.id ?? "";
    const worktree = created?.worktree;
    if (worktree !== undefined) {
      output.setDirectory?.(worktree.path);
      if (isSpoken) output.say(`worktree ${visible(worktree.path)} on ${visible(worktree.branch)}`);
    }
    if (known !== null) await change(door, session, flags);
    await door.giveKeys(session, agent);
    const link = isSpoken ? await linkFor(door, sessionPlace(session)) : null;
    if (link !== null) output.say(`watch it at ${link}`);
    const made = known === null;
    const budget = budgetFrom(flags);
    await runTurn({ door, session, made, prompt, attachments, budget, rule: answerRule(flags), output });
    // Before the agent is stopped, which takes its time.
    output.end(null);
    if (isSpoken && worktree !== undefined) output.say(await worktreeHint(door, session));
    return session;
  } finally {
    await door.close();
  }
}

async function worktreeHint(door: Door, session: string): Promise<string> {
  const { files } = await door.diff(session);
  const count = `${files.length} ${files.length === 1 ? "file" : "files"} changed`;
  const name = programName(process);
  return `${count} in the worktree: ${name} diff ${shortId(session)} · ${name} worktrees remove ${shortId(session)}`;
}

/** Who answers, with what, and where. */
function heading({ agent, model, directory }: { agent: string; model: string | null; directory: string }): string {
  const who = agent === MOCK ? "mock (scripted answers, no model)" : `${agent} · ${model ?? "default model"}`;
  const home = homedir();
  const inHome = directory === home || directory.startsWith(`${home}/`);
  return `${who} · ${visible(inHome ? `~${directory.slice(home.length)}` : directory)}`;
}

type Place = Pick<SessionSummary, "agent" | "directory" | "model">;

async function newSession(
  door: Door,
  { flags, settings, output }: Pick<Prompting, "flags" | "settings" | "output">,
): Promise<Place> {
  const agent = await agentFor({
    door,
    configured: flags.agent ?? settings.defaultAgent,
    data: settings.data,
    canAsk: answerRule(flags) === "ask",
    say: flags.quiet === true ? () => {} : output.say,
  });
  return { agent, directory: resolve(flags.dir ?? "."), model: flags.model ?? null };
}

/** The session to continue; null for a new one. An id that only the agent knows is taken over under an id of ours. */
async function formerSession(door: Door, flags: RunFlags): Promise<SessionSummary | null> {
  const { resume } = flags;
  if (flags.continue !== true && resume === undefined) return null;
  if (flags.baseUrl !== undefined) throw new UsageError("--base-url is for a new session; this one keeps its own.");
  if (flags.command !== undefined) throw new UsageError("--command is for a new session; this one keeps its own.");
  if (resume === undefined) return lastSession(door, flags);
  const known = await findSession(door, resume);
  if (known !== null || flags.agent !== undefined) return known;
  throw new ApiError(
    "session_not_found",
    `There is no session ${resume}. To continue an agent's own, name it: --agent.`,
  );
}

async function lastSession(door: Door, { dir = ".", agent }: RunFlags): Promise<SessionSummary> {
  const directory = resolve(dir);
  const sessions = await door.list({ directory, ...defined({ agent }) });
  const [last] = sessions
    .filter(({ ended }) => !ended)
    .sort((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt));
  if (last !== undefined) return last;
  const where = relative(process.cwd(), directory) === "" ? "this folder" : directory;
  throw new CommandError(`There is no session in ${where} to continue. Start one without --continue.`);
}

async function create(
  door: Door,
  options: CreateSession,
): Promise<{ readonly id: string; readonly worktree?: Worktree | undefined }> {
  const id = randomUUID();
  const created = await door.create(id, options);
  if (created.healthy) return { id, worktree: created.worktree };
  throw new ApiError("stream_error", created.error ?? `${options.agent} could not be started.`);
}

/** What the flags change about a session that exists. */
async function change(
  door: Door,
  session: string,
  { title, model, variant, mode, permissionMode }: RunFlags,
): Promise<void> {
  const wanted = defined({ title, model, variant, agentMode: mode, permissionMode });
  if (Object.keys(wanted).length > 0) await door.update(session, wanted);
}

interface Creation {
  readonly flags: RunFlags;
  readonly agent: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

function createOptions({ flags, agent, directory, env }: Creation): CreateSession {
  const { model, variant, mode, permissionMode, title, resume } = flags;
  return {
    agent,
    directory,
    ...defined({
      model,
      variant,
      agentMode: mode,
      permissionMode,
      title,
      nativeSessionId: resume,
      finishTodos: flags.finishTodos === undefined ? undefined : true,
      worktree: flags.worktree,
      delegate: flags.delegate,
      env: Object.keys(env).length === 0 ? undefined : { ...env },
    }),
  };
}

function answerRule({ autoApprove, deny }: RunFlags): AnswerRule {
  if (autoApprove === true) return "approve";
  if (deny === true) return "deny";
  return process.stdin.isTTY && process.stderr.isTTY ? "ask" : "absent";
}
