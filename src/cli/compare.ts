/** `franca compare`: one prompt to several agents at once, each in a git worktree of its own, side by side. */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { visible } from "../core/visible.ts";
import { clean } from "../projections/text/index.ts";
import { cost, count, duration } from "../projections/text/summary.ts";
import { comparisonMetadata } from "../protocol/comparison.ts";
import { PermissionMode, type UniversalEvent, type UsageTotal } from "../protocol/events.ts";
import type { Item } from "../protocol/items.ts";
import type { DiffFile, Worktree } from "../protocol/workspaces.ts";
import type { AnswerRule } from "./answering.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { programName } from "./invocation.ts";
import { runTurn } from "./one-turn.ts";
import { comparisonPlace, linkFor } from "./open.ts";
import { promptText } from "./run-prompt.ts";
import { shortId } from "./session-id.ts";
import { printJson, table } from "./table.ts";
import { settleTrust } from "./trust.ts";
import { CommandError, UsageError } from "./usage.ts";

interface Flags {
  readonly agents: string;
  readonly dir?: string;
  readonly permissionMode?: PermissionMode;
  readonly autoApprove?: true;
  readonly deny?: true;
  readonly trust?: true;
  readonly keep?: string;
  readonly json?: true;
}

const MOST = 8;

export function define(command: Command): void {
  addDoorOptions(
    command
      .argument("[prompt...]", "what to ask; read from standard input when absent or `-`")
      .requiredOption("--agents <list>", "two or more, with commas between; a model after =: claude=opus,codex")
      .option("-d, --dir <folder>", "a folder of the git repository they work on", ".")
      .addOption(new Option("--permission-mode <mode>", "approval policy").choices(PermissionMode.options))
      .addOption(new Option("--auto-approve", "allow whatever the agents ask for").conflicts("deny"))
      .option("--deny", "reject whatever the agents ask for (default)")
      .option("--trust", "trust the folder: the agents may use its settings, hooks, plugins and MCP servers")
      .option("--keep <name>", "keep the worktree of this one and remove the others, or: all, none")
      .option("--json", "as JSON"),
  )
    .addHelpText(
      "after",
      `
Each agent works in a worktree of its own that begins with the last commit. In a terminal you are asked which one to
keep; otherwise all are kept unless --keep says more. Sessions are kept in any case. Where a daemon runs, the link that
is printed first shows them side by side while they work, and you can choose there.

Example:
  $ franca compare --agents claude,codex --permission-mode acceptEdits -- "Fix the failing test"

Exit codes: 0 all completed, 1 otherwise, 2 wrong usage.`,
    )
    .action((words: string[], flags: Flags) => compare(words, flags));
}

interface Contestant {
  /** As the person wrote it; counted where it was written twice. */
  readonly name: string;
  readonly agent: string;
  readonly model: string | null;
}

interface Result extends Contestant {
  readonly session: string;
  readonly reason: string;
  readonly error: string | null;
  readonly text: string;
  readonly durationMs: number | null;
  readonly usage: UsageTotal | null;
  readonly worktree: Worktree | null;
  readonly files: readonly DiffFile[];
}

async function compare(words: readonly string[], flags: Flags): Promise<void> {
  const contestants = contestantsOf(flags.agents);
  const keep = keepOf(flags, contestants);
  const prompt = await promptText(words);
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  try {
    const directory = resolve(flags.dir ?? ".");
    for (const { agent } of contestants) await settleTrust({ door, agent, directory, trust: flags.trust === true });
    const comparison = randomUUID().slice(0, 13);
    const link = await linkFor(door, comparisonPlace(comparison));
    if (link !== null) process.stderr.write(`watch them at ${link}\n`);
    const run = (contestant: Contestant, position: number) =>
      race({ door, contestant, prompt, directory, flags, comparison: { id: comparison, position } });
    const results = await Promise.all(contestants.map(run));
    if (flags.json !== true) process.stdout.write(report(results));
    const kept = keep ?? (await choose(results, flags));
    const left = await removeOthers(door, results, kept);
    if (flags.json === true) printJson({ results: results.map(shown), kept: left.map(({ name }) => name) });
    else process.stderr.write(nextSteps(left));
    process.exitCode = results.every(({ reason }) => reason === "completed") ? 0 : 1;
  } finally {
    await door.close();
  }
}

function contestantsOf(list: string): Contestant[] {
  const written = list
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (written.length < 2 || written.length > MOST) {
    throw new UsageError(`--agents takes 2 to ${MOST} agents, with commas between: claude,codex.`);
  }
  return written.map((text, index) => {
    const before = written.slice(0, index).filter((other) => other === text).length;
    const [agent = "", model] = text.split(/=(.*)/s);
    return { name: before === 0 ? text : `${text}#${before + 1}`, agent, model: model ?? null };
  });
}

function keepOf({ keep }: Flags, contestants: readonly Contestant[]): string | null {
  if (keep === undefined || ["all", "none", ...contestants.map(({ name }) => name)].includes(keep)) return keep ?? null;
  throw new UsageError(`--keep takes all, none or one of: ${contestants.map(({ name }) => name).join(", ")}.`);
}

interface Race {
  readonly door: Door;
  readonly contestant: Contestant;
  readonly prompt: string;
  readonly directory: string;
  readonly flags: Flags;
  /** By which its sessions are found together. */
  readonly comparison: { readonly id: string; readonly position: number };
}

/** What goes wrong for one is its result: the others go on. */
async function race({ door, contestant, prompt, directory, flags, comparison }: Race): Promise<Result> {
  const { name, agent, model } = contestant;
  const session = randomUUID();
  const say = (text: string): void => void process.stderr.write(`${visible(name)}: ${clean(text)}\n`);
  const seen = collect();
  let worktree: Worktree | null = null;
  try {
    const created = await door.create(session, {
      agent,
      directory,
      worktree: true,
      metadata: comparisonMetadata({ ...comparison, name }),
      ...(model === null ? {} : { model }),
      ...(flags.permissionMode === undefined ? {} : { permissionMode: flags.permissionMode }),
    });
    worktree = created.worktree ?? null;
    if (!created.healthy) throw new CommandError(created.error ?? "it could not be started");
    say(`works in ${worktree?.path ?? directory}`);
    await door.giveKeys(session, agent);
    const rule: AnswerRule = flags.autoApprove === true ? "approve" : flags.deny === true ? "deny" : "absent";
    const { signal } = new AbortController();
    const end = await runTurn({ door, id: session, prompt, rule, signal, onEvent: seen.see });
    say(`${end?.data.reason ?? "interrupted"}`);
    const { files } = await door.diff(session);
    const reason = end?.data.reason ?? "interrupted";
    const error = end?.data.error?.message ?? null;
    return { ...contestant, session, reason, error, worktree, files, ...seen.result(), usage: end?.data.usage ?? null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    say(message);
    return {
      ...contestant,
      session,
      reason: "error",
      error: message,
      worktree,
      files: [],
      ...seen.result(),
      usage: null,
    };
  }
}

/** The last words and the time of a turn. */
function collect(): {
  readonly see: (event: UniversalEvent) => void;
  readonly result: () => Pick<Result, "text" | "durationMs">;
} {
  let text = "";
  let startedAt: number | null = null;
  let endedAt: number | null = null;
  return {
    see(event) {
      if (event.type === "turn.started") startedAt = Date.parse(event.time);
      else if (event.type === "turn.ended") endedAt = Date.parse(event.time);
      else if (event.type === "item.completed") text = wordsOf(event.data.item) ?? text;
    },
    result: () => ({ text, durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt }),
  };
}

function wordsOf({ kind, role, subagent, content }: Item): string | null {
  if (kind !== "message" || role !== "assistant" || subagent !== undefined) return null;
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  return text.trim() === "" ? null : text;
}

const sum = (files: readonly DiffFile[], key: "added" | "removed"): number =>
  files.reduce((total, file) => total + (file[key] ?? 0), 0);

function shown({ files, ...result }: Result): object {
  return { ...result, diff: { files, added: sum(files, "added"), removed: sum(files, "removed") } };
}

const HEAD = ["AGENT", "SESSION", "RESULT", "TIME", "TOKENS IN", "OUT", "COST", "FILES", "LINES"];

function report(results: readonly Result[]): string {
  const rows = results.map(({ name, session, reason, durationMs, usage, files }) => {
    const { input, output, reasoning, cache_read, cache_write } = usage?.tokens ?? NO_TOKENS;
    return [
      name,
      shortId(session),
      reason,
      durationMs === null ? "–" : duration(durationMs),
      usage === null ? "–" : count(input + cache_read + cache_write),
      usage === null ? "–" : count(output + reasoning),
      (usage === null ? null : cost(usage)) ?? "unknown",
      String(files.length),
      `+${sum(files, "added")} −${sum(files, "removed")}`,
    ];
  });
  const texts = results.map(({ name, text, error }) => `\n${visible(name)}\n${indent(text, error)}`);
  return `${table([HEAD, ...rows])}${texts.join("")}`;
}

const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 };

function indent(text: string, error: string | null): string {
  const whole = [text.trim(), error === null ? "" : `error: ${error}`].filter((part) => part !== "").join("\n");
  return clean(whole === "" ? "(no answer)" : whole)
    .replaceAll(/^/gm, "  ")
    .concat("\n");
}

/** A name, `all` or `none`. Without a terminal nothing is removed. */
async function choose(results: readonly Result[], { json }: Flags): Promise<string> {
  if (json === true || !(process.stdin.isTTY && process.stderr.isTTY)) return "all";
  const { isCancel, select } = await import("@clack/prompts");
  const answer = await select<string>({
    message: "Which one to keep? The worktrees of the others are removed, with what is in them.",
    options: [
      { value: "all", label: "all of them" },
      ...results.filter(({ worktree }) => worktree !== null).map(({ name }) => ({ value: name, label: name })),
      { value: "none", label: "none of them" },
    ],
    output: process.stderr,
  });
  return isCancel(answer) ? "all" : answer;
}

/** Gives those that are kept. Some may be gone: the person may have chosen in the inspector. */
async function removeOthers(door: Door, results: readonly Result[], kept: string): Promise<Result[]> {
  const there = new Set((await door.worktrees()).map(({ sessionId }) => sessionId));
  const left: Result[] = [];
  for (const result of results.filter(({ session }) => there.has(session))) {
    if (kept === "all" || result.name === kept) left.push(result);
    else await door.removeWorktree(result.session, { force: true });
  }
  return left;
}

function nextSteps(left: readonly Result[]): string {
  const name = programName(process);
  return left
    .map(({ name: agent, session, worktree }) => {
      const id = shortId(session);
      return `${visible(agent)}: ${visible(worktree?.path ?? "")}\n  take it over with: ${name} diff ${id} | git apply\n`;
    })
    .join("");
}
