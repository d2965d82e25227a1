/** Universal → text for a terminal: the answer as it is written, a line per tool, and a last line with the numbers. */

import { commandIn, commandOf, titleNames } from "../../core/command.ts";
import type { Fold } from "../../core/fold.ts";
import { visible } from "../../core/visible.ts";
import type { EventOf, Permission, QuestionRequest, TurnEnd, UniversalEvent } from "../../protocol/events.ts";
import type { FileRefPart, Item, ToolCallPart, ToolResultPart } from "../../protocol/items.ts";
import { allowedFromNowOn } from "./approval.ts";
import { clean, excerpt, oneLine, type Paint, paintFor } from "./style.ts";
import { cost, diffSize, duration, tokens } from "./summary.ts";

/** `answer` is what the agent says, `note` all that is told about it: scripts want the first alone. */
export interface TextPiece {
  readonly to: "answer" | "note";
  readonly text: string;
}

export interface TextOptions {
  readonly color: boolean;
  /** Whether prompts are shown: not to the person who has just typed one. */
  readonly prompts: boolean;
}

interface State {
  /** The item whose text is being written. */
  writing: string | null;
  /** On which side a line has been begun and not ended. */
  openLine: TextPiece["to"] | null;
  /** Tools at work, by call id: the command or the title, and the model's own description of the command. */
  readonly tools: Map<string, { readonly shown: string; readonly about: string }>;
  /** Subagents' own words are not part of the answer. */
  readonly hidden: Set<string>;
  readonly subagents: Map<string, string>;
  /** Null when the stream begins within a turn. */
  turnStartedAt: number | null;
  /** What is going on, for whoever shows a spinner. */
  activity: string | null;
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
      turnStartedAt: null,
      activity: null,
    }),
    step: (state, event) => step({ state, event, paint, options }),
  };
}

/** What is going on now, in a few words; null while idle, and while a line is open that must not be drawn over. */
export const activityOf = ({ activity, openLine }: State): string | null => (openLine === null ? activity : null);

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
      return [];
    case "item.started":
      return onItemStarted(state, event.data.item);
    case "item.delta":
      return onDelta({ state, event, paint });
    case "item.completed":
      return onItemCompleted({ state, item: event.data.item, paint, options });
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
      return onTurnState({ state, data: event.data, paint });
    case "turn.continued":
      return note(state, paint.dim(`· ${event.data.decision}: ${clean(event.data.reason)}`));
    case "todo.updated": {
      const { todos } = event.data;
      const done = todos.filter(({ status }) => status === "completed").length;
      const current = todos.find(({ status }) => status === "in_progress")?.content ?? "";
      return note(
        state,
        paint.dim(`· todo ${done}/${todos.length} ${oneLine(current, { width: TITLE_WIDTH })}`.trimEnd()),
      );
    }
    case "error":
      // The turn ends by a fatal error, and that line has its message.
      return event.data.fatal ? [] : note(state, `${paint.red("!")} ${clean(event.data.message)}`);
    case "agent.unparsed":
      return note(state, paint.dim(`! a line of the agent was not understood: ${clean(event.data.error)}`));
    case "session.updated":
      return changeLines(event.data).flatMap((line) => note(state, paint.dim(`· ${clean(line)}`)));
    case "session.ended":
      return note(state, paint.dim(`· session ended (${event.data.reason})`));
    default:
      return [];
  }
}

/** What a person has taken back or shared. */
function changeLines({ revert, removed = [], share }: EventOf<"session.updated">["data"]): string[] {
  return [
    ...(revert ? [`taken back from message ${revert.message_id} on`] : []),
    ...removed.map(({ message_id }) => `message ${message_id} is no part of the conversation any more`),
    ...(share ? [`shared at ${share.url}`] : []),
  ];
}

function onTurnState({ state, data, paint }: { state: State; data: EventOf<"turn.state">["data"]; paint: Paint }) {
  switch (data.state) {
    case "retrying":
      state.activity = "waiting to try again";
      return note(state, `${paint.yellow("!")} try ${data.attempt ?? 1} failed: ${clean(data.message ?? "")}`);
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

function onItemStarted(state: State, item: Item): TextPiece[] {
  if (item.kind === "status" && item.subagent !== undefined) {
    state.subagents.set(item.item_id, item.subagent.name ?? "subagent");
    return [];
  }
  if (item.subagent !== undefined) state.hidden.add(item.item_id);
  const [part] = item.content;
  if (part?.type === "tool_call") startTool(state, part);
  return [];
}

/** A command is shown itself, to its end: its title may be what the model says of it. */
function startTool(state: State, part: ToolCallPart): void {
  const command = commandOf(part);
  const title = oneLine(visible(part.title === "" ? part.name : part.title), { width: TITLE_WIDTH });
  const about = command === null || titleNames(part.title, command) || title === part.name ? "" : title;
  state.tools.set(part.call_id, { shown: command === null ? title : excerpt(command), about });
  state.activity = command === null ? title : oneLine(visible(command), { width: TITLE_WIDTH });
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
  readonly paint: Paint;
  readonly options: TextOptions;
}

function onItemCompleted({ state, item, paint, options }: ItemStep): TextPiece[] {
  const [part] = item.content;
  const ended = item.kind === "status" ? subagentEnded({ state, item, paint }) : null;
  if (ended !== null) return ended;
  if (part?.type === "tool_call") {
    startTool(state, part);
    return [];
  }
  if (part?.type === "tool_result") return onToolResult({ state, item, part, paint });
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

function subagentEnded({ state, item, paint }: Omit<ItemStep, "options">): TextPiece[] | null {
  const name = state.subagents.get(item.item_id);
  if (name === undefined) return null;
  state.subagents.delete(item.item_id);
  return note(state, `${item.status === "failed" ? paint.red("✗") : paint.green("✓")} ${clean(name)}`);
}

interface ToolStep {
  readonly state: State;
  readonly item: Item;
  readonly part: ToolResultPart;
  readonly paint: Paint;
}

function onToolResult({ state, item, part, paint }: ToolStep): TextPiece[] {
  const { shown, about } = state.tools.get(part.call_id) ?? { shown: visible(part.call_id), about: "" };
  state.tools.delete(part.call_id);
  const running = [...state.tools.values()].at(-1);
  state.activity = running === undefined ? "thinking" : oneLine(running.shown, { width: TITLE_WIDTH });
  const failed = part.is_error || item.status === "failed";
  const indent = item.subagent === undefined ? "" : "  ";
  const title = `${shown.replaceAll("\n", `\n${indent}  `)}${about === "" ? "" : paint.dim(` · ${about}`)}`;
  const files = item.content.filter((each): each is FileRefPart => each.type === "file_ref" && each.diff !== undefined);
  const sizes = files.map(({ path, diff }) => ` ${clean(path)} ${diffSize(diff ?? "")}`).join(",");
  if (!failed) return note(state, `${indent}${paint.green("✓")} ${title}${paint.dim(sizes)}`);
  const why = oneLine(part.output, { width: DETAIL_WIDTH });
  return note(state, `${indent}${paint.red("✗")} ${title}${why === "" ? "" : paint.dim(`: ${why}`)}`);
}

function permissionLine({ action, metadata }: Permission): string {
  const command = commandIn(metadata.input)?.command;
  const subject = oneLine(visible(metadata.patterns.join(", ")), { width: DETAIL_WIDTH });
  const what = command === undefined ? subject : excerpt(command);
  const tool = metadata.tool === null || metadata.tool === action ? "" : ` (${metadata.tool})`;
  return `${visible(action)}${visible(tool)}${what === "" ? "" : `: ${what.replaceAll("\n", "\n  ")}`}`;
}

function resolution(permission: Permission, paint: Paint): string {
  if (permission.status === "reject") return paint.red("rejected");
  if (permission.status !== "accept_for_session") return paint.green("allowed");
  return paint.green(`allowed, and from now on: ${oneLine(allowedFromNowOn(permission), { width: DETAIL_WIDTH })}`);
}

const questionLines = ({ questions }: QuestionRequest): string[] =>
  questions.map(({ question, options }) => {
    const labels = options.map(({ label }) => clean(label)).join(" / ");
    return `${clean(question)}${labels === "" ? "" : ` [${labels}]`}`;
  });

function answerLine({ status, response }: QuestionRequest, paint: Paint): string {
  if (status !== "answered") return paint.red("not answered");
  return paint.green(oneLine((response ?? []).map((labels) => labels.join(", ")).join("; "), { width: DETAIL_WIDTH }));
}

interface TurnEndStep {
  readonly state: State;
  readonly end: TurnEnd;
  readonly at: number;
  readonly paint: Paint;
}

function onTurnEnded({ state, end, at, paint }: TurnEndStep): TextPiece[] {
  state.activity = null;
  state.tools.clear();
  const price = cost(end.usage);
  const numbers = [
    ...(state.turnStartedAt === null ? [] : [duration(Math.max(0, at - state.turnStartedAt))]),
    tokens(end.usage.tokens),
    ...(price ? [price] : []),
  ];
  const word = end.reason === "completed" ? paint.green("✓ completed") : paint.red(`✗ ${end.reason}`);
  const why = end.error === undefined ? "" : `: ${clean(end.error.message)}`;
  const background = end.background.map(({ title }) =>
    note(state, paint.dim(`· goes on in the background: ${clean(title)}`)),
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
