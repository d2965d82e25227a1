/** Universal → text for a terminal: the answer as it is written, a line per tool, and a last line with the numbers. */

import { budgetWords } from "../../core/budget-words.ts";
import type { Fold } from "../../core/fold.ts";
import { visible } from "../../core/visible.ts";
import type { EventOf, Tokens, TurnEnd, UniversalEvent } from "../../protocol/events.ts";
import type { Item, ToolCallPart, ToolResultPart } from "../../protocol/items.ts";
import { diffLines } from "./approval.ts";
import { answerLine, permissionLine, questionLines, resolution } from "./requests.ts";
import { clean, excerpt, oneLine, type Paint, paintFor } from "./style.ts";
import { cost, count, duration, tokens } from "./summary.ts";
import { activityLine, describeTool, diffsOf, outcomeOf, type ToolLine } from "./tools.ts";

/** `answer` is what the agent says, `note` everything about it: scripts want the first alone. */
export interface TextPiece {
  readonly to: "answer" | "note";
  readonly text: string;
}

export interface TextOptions {
  readonly color: boolean;
  /** Whether prompts are shown: not to the person who has just typed one. */
  readonly prompts: boolean;
  /** `quiet`: only the answer, and why there is none. `verbose`: also what tools printed and changed. */
  readonly detail?: "quiet" | "normal" | "verbose";
}

interface State {
  /** The item whose text is being written. */
  writing: string | null;
  /** On which side a line has been begun and not ended. */
  openLine: TextPiece["to"] | null;
  /** Tools at work, by call id. */
  readonly tools: Map<string, RunningTool>;
  /** Subagents' own words are not part of the answer. */
  readonly hidden: Set<string>;
  readonly subagents: Map<string, string>;
  /** Paths in it are shown from there. */
  directory: string | null;
  model: string | null;
  /** Null when the stream begins within a turn. */
  turnStartedAt: number | null;
  /** What is going on, for a progress line. */
  activity: string | null;
  /** When the next try begins, in epoch milliseconds, while one is waited for. */
  nextTryAt: number | null;
  /** Tokens of the turn so far. */
  tokensUsed: number;
}

interface RunningTool extends ToolLine {
  startedAt: number | null;
}

export type TextState = State;

const TITLE_WIDTH = 100;
const DETAIL_WIDTH = 160;

export function textProjection(options: TextOptions): Fold<UniversalEvent, TextPiece, State> {
  const paint = paintFor(options);
  return {
    start: () => ({
      writing: null,
      openLine: null,
      tools: new Map(),
      hidden: new Set(),
      subagents: new Map(),
      directory: null,
      model: null,
      turnStartedAt: null,
      activity: null,
      nextTryAt: null,
      tokensUsed: 0,
    }),
    step(state, event) {
      const pieces = step({ state, event, paint, options });
      if (options.detail !== "quiet") return pieces;
      const isWanted = event.type === "turn.ended" && event.data.reason !== "completed";
      return pieces.filter(({ to }) => to === "answer" || isWanted);
    },
  };
}

/** What is going on now, in a few words; null while idle, and while a line is open that must not be drawn over. */
export const activityOf = ({ activity, openLine }: State): string | null => (openLine === null ? activity : null);

/** The same with seconds and tokens so far, or with the seconds until the next try. `now` in epoch milliseconds. */
export function progressOf(state: State, now: number): string | null {
  const activity = activityOf(state);
  if (activity === null) return null;
  const seconds = (ms: number): string => `${Math.max(0, Math.round(ms / 1000))} s`;
  const wait = state.nextTryAt === null ? [] : [`next try in ${seconds(state.nextTryAt - now)}`];
  const passed = state.turnStartedAt === null ? [] : [seconds(now - state.turnStartedAt)];
  const used = state.tokensUsed === 0 ? [] : [`${count(state.tokensUsed)} tokens`];
  return [activity, ...wait, ...passed, ...used].join(" · ");
}

interface Step {
  readonly state: State;
  readonly event: UniversalEvent;
  readonly paint: Paint;
  readonly options: TextOptions;
}

function step({ state, event, paint, options }: Step): TextPiece[] {
  switch (event.type) {
    case "turn.started":
      state.turnStartedAt = Date.parse(event.time);
      state.activity = "thinking";
      state.tokensUsed = 0;
      return [];
    case "item.started":
      return onItemStarted({ state, event, paint });
    case "item.delta":
      return onDelta({ state, event, paint });
    case "item.completed":
      return onItemCompleted({ state, item: event.data.item, at: Date.parse(event.time), paint, options });
    case "permission.requested":
      state.activity = null;
      return note(state, `${paint.yellow("?")} ${permissionLine(event.data)}`);
    case "permission.resolved":
      return note(state, `  ${resolution(event.data, paint)}`);
    case "question.requested":
      state.activity = null;
      return questionLines(event.data).flatMap((line) => note(state, `${paint.yellow("?")} ${line}`));
    case "question.resolved":
      return note(state, `  ${answerLine(event.data, paint)}`);
    case "turn.ended":
      return onTurnEnded({ state, end: event.data, at: Date.parse(event.time), paint });
    default:
      return onRest({ state, event, paint });
  }
}

/** Events that are one line, or none. */
function onRest({ state, event, paint }: Omit<Step, "options">): TextPiece[] {
  switch (event.type) {
    case "turn.state":
      return onTurnState({ state, event, paint });
    case "turn.continued":
      return note(state, paint.dim(`· ${event.data.decision}: ${clean(event.data.reason)}`));
    case "todo.updated": {
      const { todos } = event.data;
      const done = todos.filter(({ status }) => status === "completed").length;
      const current = todos.find(({ status }) => status === "in_progress")?.content ?? "";
      return note(
        state,
        paint.dim(`· Todos ${done}/${todos.length} ${oneLine(current, { width: TITLE_WIDTH })}`.trimEnd()),
      );
    }
    case "error":
      // The turn ends by a fatal error, and that line has its message.
      return event.data.fatal ? [] : note(state, `${paint.red("!")} ${clean(event.data.message)}`);
    case "budget.updated":
      return note(state, `${paint.yellow("!")} ${budgetWords(event.data)}`);
    case "agent.unparsed":
      return note(state, paint.dim(`! a line of the agent is not known: ${clean(event.data.error)}`));
    case "session.started":
      state.directory ??= event.data.metadata.directory;
      state.model ??= event.data.metadata.model;
      return [];
    case "usage.updated":
      state.tokensUsed = total(event.data.turn.tokens);
      return [];
    case "session.updated":
      return changeLines(state, event.data).flatMap((line) => note(state, paint.dim(`· ${visible(line)}`)));
    case "session.ended":
      return note(state, paint.dim(`· session ended (${event.data.reason})`));
    default:
      return [];
  }
}

const total = ({ input, output, reasoning, cache_read, cache_write }: Tokens): number =>
  input + output + reasoning + cache_read + cache_write;

/** The model once it is known, and what a person has reverted or shared. */
function changeLines(
  state: State,
  { model, revert, removed = [], share }: EventOf<"session.updated">["data"],
): string[] {
  const isNews = model !== undefined && model !== null && model !== state.model;
  if (isNews) state.model = model;
  return [
    ...(isNews ? [`model ${model}`] : []),
    ...(revert ? [`reverted from message ${revert.message_id} on`] : []),
    ...removed.map(({ message_id }) => `message ${message_id} was removed from the conversation`),
    ...(share ? [`shared at ${share.url}`] : []),
  ];
}

interface StateStep {
  readonly state: State;
  readonly event: EventOf<"turn.state">;
  readonly paint: Paint;
}

function onTurnState({ state, event, paint }: StateStep): TextPiece[] {
  const { data } = event;
  state.nextTryAt = null;
  switch (data.state) {
    case "retrying": {
      const attempt = data.attempt ?? 1;
      state.activity = `retrying, try ${attempt + 1}`;
      state.nextTryAt = data.next ?? null;
      const delay =
        data.next === undefined ? "" : ` · next try in ${duration(Math.max(0, data.next - Date.parse(event.time)))}`;
      return note(state, `${paint.yellow("!")} try ${attempt} failed: ${clean(data.message ?? "")}${paint.dim(delay)}`);
    }
    case "compacting":
      state.activity = "compacting";
      return note(state, paint.dim("· compacting the conversation"));
    case "requires_action":
      state.activity = null;
      return [];
    case "running":
      state.activity = "thinking";
      return [];
  }
}

interface ItemStart {
  readonly state: State;
  readonly event: EventOf<"item.started">;
  readonly paint: Paint;
}

function onItemStarted({ state, event, paint }: ItemStart): TextPiece[] {
  const { item } = event.data;
  if (item.kind === "status" && item.subagent !== undefined) {
    const name = visible(item.subagent.name ?? "subagent");
    state.subagents.set(item.item_id, name);
    const call = state.tools.get(item.subagent.parent_call_id ?? "");
    const task = call === undefined ? "" : ` ${call.subject}`;
    return note(state, `${paint.cyan("◆")} Task${task}${paint.dim(` · ${name}`)}`);
  }
  if (item.subagent !== undefined) state.hidden.add(item.item_id);
  const [part] = item.content;
  if (part?.type === "tool_call") startTool(state, part);
  if (part?.type === "tool_result") {
    const tool = state.tools.get(part.call_id);
    if (tool !== undefined) tool.startedAt ??= Date.parse(event.time);
  }
  return [];
}

/** A command is shown itself, to its end: its title may be what the model says of it. */
function startTool(state: State, part: ToolCallPart): void {
  const line = describeTool(part, { directory: state.directory });
  state.tools.set(part.call_id, { ...line, startedAt: state.tools.get(part.call_id)?.startedAt ?? null });
  state.activity = activityLine(line);
}

function onDelta({ state, event, paint }: { state: State; event: EventOf<"item.delta">; paint: Paint }): TextPiece[] {
  const { item_id, delta, part } = event.data;
  if (part === "tool_output" || state.hidden.has(item_id)) return [];
  const text = clean(delta);
  if (text === "") return [];
  const gap = state.writing !== null && state.writing !== item_id ? closeLine(state) : [];
  state.writing = item_id;
  const to = part === "reasoning" ? "note" : "answer";
  state.openLine = text.endsWith("\n") ? null : to;
  return [...gap, { to, text: to === "note" ? paint.dim(text) : text }];
}

interface ItemStep {
  readonly state: State;
  readonly item: Item;
  readonly at: number;
  readonly paint: Paint;
  readonly options: TextOptions;
}

function onItemCompleted({ state, item, at, paint, options }: ItemStep): TextPiece[] {
  const [part] = item.content;
  const ended = item.kind === "status" ? subagentEnded({ state, item, paint }) : null;
  if (ended !== null) return ended;
  if (part?.type === "tool_call") {
    startTool(state, part);
    return [];
  }
  if (part?.type === "tool_result") return onToolResult({ state, item, part, at, paint, options });
  if (state.hidden.delete(item.item_id)) return [];
  if (state.writing === item.item_id) return endBlock(state);
  if (item.role === "user" && options.prompts && part?.type === "text") {
    return note(state, `${paint.cyan("›")} ${paint.bold(clean(part.text))}`);
  }
  if (part?.type === "json" && item.role === "assistant") {
    return [...closeLine(state), { to: "answer", text: `${clean(JSON.stringify(part.json))}\n` }];
  }
  if (part?.type === "status") {
    return note(
      state,
      paint.dim(`· ${clean(part.label)}${part.detail === undefined ? "" : `: ${clean(part.detail)}`}`),
    );
  }
  return [];
}

function endBlock(state: State): TextPiece[] {
  state.writing = null;
  state.activity = "thinking";
  return closeLine(state);
}

function subagentEnded({ state, item, paint }: Pick<ItemStep, "state" | "item" | "paint">): TextPiece[] | null {
  const name = state.subagents.get(item.item_id);
  if (name === undefined) return null;
  state.subagents.delete(item.item_id);
  // The result of the call that started it says how it ended; one in the background has had its result.
  if (state.tools.has(item.subagent?.parent_call_id ?? "")) return [];
  return note(state, `${mark(item.status === "failed", paint)} Task${paint.dim(` · ${name}`)}`);
}

const mark = (failed: boolean, paint: Paint): string => (failed ? paint.red("✗") : paint.green("✓"));

interface ToolStep extends ItemStep {
  readonly part: ToolResultPart;
}

function onToolResult({ state, item, part, at, paint, options }: ToolStep): TextPiece[] {
  const tool = state.tools.get(part.call_id);
  state.tools.delete(part.call_id);
  const running = [...state.tools.values()].at(-1);
  state.activity = running === undefined ? "thinking" : activityLine(running);
  const failed = part.is_error || item.status === "failed";
  if (tool?.isShownElsewhere === true && !failed) return [];
  const line = tool ?? { verb: visible(part.call_id), subject: "", about: "", isShownElsewhere: false, diffs: [] };
  const ms = tool === undefined || tool.startedAt === null ? null : at - tool.startedAt;
  const { subject, facts } = outcomeOf({ line, item, part, ms, directory: state.directory });
  const indent = item.subagent === undefined ? "" : "  ";
  const texts = [line.about, ...facts].filter((fact) => fact !== "").map((fact) => ` · ${fact}`);
  const shown = subject === "" ? "" : ` ${subject.replaceAll("\n", `\n${indent}  `)}`;
  const head = `${indent}${mark(failed, paint)} ${paint.bold(line.verb)}${shown}${paint.dim(texts.join(""))}`;
  const isVerbose = options.detail === "verbose";
  const why = failed && !isVerbose ? oneLine(part.output, { width: DETAIL_WIDTH }) : "";
  const body = isVerbose ? details({ line, item, part, paint }) : why === "" ? [] : [paint.dim(why)];
  return [...note(state, head), ...body.flatMap((text) => note(state, `${indent}  ${text}`))];
}

interface Details extends Pick<ToolStep, "item" | "part" | "paint"> {
  readonly line: ToolLine;
}

/** What the tool changed, else what it printed. */
function details({ line, item, part, paint }: Details): string[] {
  const diffs = diffsOf({ line, item });
  if (diffs.length > 0 && !part.is_error) return diffs.flatMap((diff) => diffLines(diff, paint));
  return part.output.trim() === "" ? [] : excerpt(part.output).split("\n").map(paint.dim);
}

interface TurnEndStep {
  readonly state: State;
  readonly end: TurnEnd;
  readonly at: number;
  readonly paint: Paint;
}

function onTurnEnded({ state, end, at, paint }: TurnEndStep): TextPiece[] {
  state.activity = null;
  state.nextTryAt = null;
  const price = cost(end.usage);
  const numbers = [
    ...(state.turnStartedAt === null ? [] : [duration(Math.max(0, at - state.turnStartedAt))]),
    tokens(end.usage.tokens),
    ...(price ? [price] : []),
  ];
  const word = end.reason === "completed" ? paint.green("✓ completed") : paint.red(`✗ ${end.reason}`);
  const why = end.error === undefined ? "" : `: ${clean(end.error.message)}`;
  const background = end.background.map(({ title }) =>
    note(state, paint.dim(`· still running in the background: ${clean(title)}`)),
  );
  return [...background.flat(), ...note(state, `${word}${why} ${paint.dim(`· ${numbers.join(" · ")}`)}`)];
}

/** A line of its own: whatever line is open is ended first. */
function note(state: State, text: string): TextPiece[] {
  return [...closeLine(state), { to: "note", text: `${text}\n` }];
}

/** A line ends where it was begun. */
function closeLine(state: State): TextPiece[] {
  const to = state.openLine;
  state.openLine = null;
  return to === null ? [] : [{ to, text: "\n" }];
}
