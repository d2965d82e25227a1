/**
 * Tool calls → tool items. A call may first appear in a permission request, or only as an update; its arguments grow
 * and nobody says when they are complete; it may never end.
 */
import { toolKindOf } from "../../core/acp.ts";
import type { CloseReport, Report } from "../../core/report.ts";
import { closeCall, openCall, resultHead, resultKey } from "../../core/report-builders.ts";
import type { AcpTool, AcpToolContent } from "../../dialects/acp.ts";
import { isShape, isString, shapeOf } from "../../dialects/shape.ts";
import type { ToolCallPart } from "../../protocol/items.ts";
import { ensureParent } from "./blocks.ts";
import { exitCodeIn, fileRefs, outputOf, terminalOutput, textOf } from "./outputs.ts";
import { type Call, nextKey, type State, type Thread } from "./state.ts";
import { endSpawned } from "./subagents.ts";
import { planTodos } from "./todos.ts";
import { noteWork } from "./work.ts";

export interface ToolUpdate {
  readonly tool: AcpTool;
  /** `request`: it came with a permission request, whose text is no output. */
  readonly from: "call" | "update" | "request";
}

export function onTool(state: State, thread: Thread, { tool, from }: ToolUpdate): Report[] {
  const known = state.calls.get(tool.toolCallId);
  // Updates of a call that is over, and replayed ones, are no news; a new call may use its id again.
  if (known === undefined && from === "update" && isFinished(state, tool)) return [];
  const out: Report[] = known === undefined ? openTool(state, thread, { tool, synthetic: from !== "call" }) : [];
  const call = known ?? state.calls.get(tool.toolCallId);
  if (call === undefined) return out;
  learn(call, tool, from);
  if (state.quirks.content === "input" && !isShape(call.input)) call.input = writtenInput(tool) ?? call.input;
  out.push(...todosOf(state, call));
  if (isComplete(state, call, from)) out.push(...completeCall(state, call));
  if (from !== "request") out.push(...streamed(state, call, tool));
  if (call.status === "completed" || call.status === "failed" || call.status === "cancelled") {
    out.push(...closeTool(state, call));
  }
  return out;
}

/** A late update of a call that has ended: it carries no name, no kind and no title of its own. */
const isFinished = (state: State, tool: AcpTool): boolean =>
  state.counter > 0 && tool.title == null && tool.kind == null && tool.name == null;

function openTool(state: State, thread: Thread, { tool, synthetic }: { tool: AcpTool; synthetic: boolean }): Report[] {
  const out = [...noteWork(state), ...ensureParent(state, thread)];
  const title = tool.title ?? tool.toolCallId;
  const call: Call = {
    id: tool.toolCallId,
    key: nextKey(state, tool.toolCallId),
    thread,
    name: nameOf(state, tool),
    title,
    kind: tool.kind ?? "other",
    status: null,
    input: undefined,
    called: false,
    output: "",
    content: [],
    locations: [],
    rawOutput: undefined,
    exitCode: null,
    rejected: false,
  };
  state.calls.set(call.id, call);
  const open = openCall(
    { ...namedAs(call), message_id: thread.message ?? undefined, parent: thread.parent ?? undefined },
    partOf(call),
  );
  return [...out, { ...open, synthetic }];
}

function nameOf({ quirks }: State, tool: AcpTool): string {
  const own = quirks.toolName?.(tool);
  return [own, tool.name, tool.title, tool.kind].find((name) => isString(name) && name !== "") ?? tool.toolCallId;
}

const namedAs = (call: Call) => ({
  key: call.key,
  native_item_id: call.id,
  subagent: subagentOf(call),
});

const subagentOf = ({ thread }: Call) => thread.subagent ?? undefined;

const partOf = (call: Call): ToolCallPart => ({
  type: "tool_call",
  name: call.name,
  arguments: JSON.stringify(argumentsOf(call)),
  call_id: call.id,
  tool_kind: toolKindOf({ kind: call.kind, name: call.name }),
  title: call.title,
});

/** Some agents say only in words what a tool is called with. */
function argumentsOf({ input, kind, title, locations }: Call): unknown {
  if (isShape(input) && Object.keys(input).length > 0) return input;
  if (input !== undefined && input !== null && !isShape(input)) return { input };
  const [path] = locations;
  if (kind === "execute") return { command: title };
  return path === undefined ? {} : { path };
}

function learn(call: Call, tool: AcpTool, from: ToolUpdate["from"]): void {
  if (isString(tool.title) && tool.title !== "") call.title = tool.title;
  if (isString(tool.kind)) call.kind = tool.kind;
  // A request repeats "pending" of a call that is under way.
  if (isString(tool.status) && from !== "request") call.status = tool.status;
  if (!call.called && richer(tool.rawInput, call.input)) call.input = tool.rawInput;
  if (tool.content != null && (from !== "request" || call.content.length === 0)) call.content = tool.content;
  if (tool.locations != null && tool.locations.length > 0) call.locations = tool.locations.map(({ path }) => path);
  if (tool.rawOutput !== undefined && tool.rawOutput !== null) call.rawOutput = tool.rawOutput;
  call.exitCode = exitCodeIn(tool) ?? call.exitCode;
}

/** The arguments as they are written, once they are whole: one agent sends them as content. */
function writtenInput({ content }: AcpTool): unknown {
  const text = textOf(content ?? []);
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Arguments grow; a request that repeats only some of them takes none away. */
function richer(next: unknown, known: unknown): boolean {
  if (next === undefined || next === null) return false;
  if (!isShape(next) || !isShape(known)) return true;
  return Object.keys(next).length >= Object.keys(known).length;
}

/** Nobody says that the arguments are complete: a request, a start with arguments, output and the end do. */
function isComplete(state: State, call: Call, from: ToolUpdate["from"]): boolean {
  if (call.called) return false;
  if (from === "request") return true;
  const { status, input, content } = call;
  if (status === "completed" || status === "failed" || status === "cancelled") return true;
  if (status === "in_progress" && isShape(input) && Object.keys(input).length > 0) return true;
  if (status === "in_progress" && call.locations.length > 0 && state.quirks.content !== "input") return true;
  return content.some(({ type }) => type === "terminal") && status === "in_progress";
}

export function completeCall(_state: State, call: Call): Report[] {
  if (call.called) return [];
  call.called = true;
  return [closeCall(call.key, partOf(call)), { type: "open", item: resultHead(namedAs(call), call.id) }];
}

/** Output while it runs: pieces beside the protocol, or the whole text again and again. */
function streamed(state: State, call: Call, tool: AcpTool): Report[] {
  const piece = terminalOutput(tool);
  if (piece !== null) return [...completeCall(state, call), ...addOutput(call, piece)];
  const mode = state.quirks.content ?? (call.status === "in_progress" ? "output" : "input");
  if (mode === "input" || tool.content == null || !call.called || call.status === "completed") return [];
  const text = textOf(tool.content);
  return text.startsWith(call.output) ? addOutput(call, text.slice(call.output.length)) : [];
}

export function addOutput(call: Call, delta: string): Report[] {
  if (delta === "" || !call.called) return [];
  call.output += delta;
  return [{ type: "delta", key: resultKey(call.key), part: "tool_output", delta }];
}

/** A piece of content of version 2. */
export function onContentChunk(state: State, { toolCallId, content }: { toolCallId: string; content: AcpToolContent }) {
  const call = state.calls.get(toolCallId);
  if (call === undefined) return [];
  call.content = [...call.content, content];
  return addOutput(call, textOf([content]));
}

export function closeTool(state: State, call: Call): Report[] {
  const out = [...endSpawned(state, call.id, { failed: call.status !== "completed" }), ...completeCall(state, call)];
  state.calls.delete(call.id);
  const output = outputOf(call);
  const stopped = state.cancelled && /cancel|abort|interrupt/i.test(output);
  const is_error = call.status !== "completed" || (call.exitCode ?? 0) !== 0 || stopped;
  const part = {
    type: "tool_result" as const,
    call_id: call.id,
    output,
    is_error,
    ...(call.exitCode === null ? {} : { exit_code: call.exitCode }),
  };
  const close: CloseReport = {
    type: "close",
    key: resultKey(call.key),
    status: is_error ? "failed" : "completed",
    content: [part, ...(is_error ? [] : fileRefs(call))],
    denied: call.rejected && is_error,
  };
  out.push(close);
  if (state.background.delete(call.id)) out.push(backgroundReport(state));
  return out;
}

/**
 * What is open when the agent says that its turn is over. A refused call is never heard of again in some; a command may
 * outlive its turn; anything else holds a natural end for a while.
 */
export function leaveCalls(state: State, { natural }: { natural: boolean }): Report[] {
  const out: Report[] = [];
  for (const call of [...state.calls.values()]) {
    if (state.background.has(call.id)) continue;
    if (natural && call.rejected) {
      call.status = "failed";
      out.push(...closeTool(state, call));
    } else if (natural && state.quirks.commandsOutlive === true && call.kind === "execute") {
      call.status = "background";
      state.background.set(call.id, { id: call.id, kind: "command", title: call.title, call_id: call.id });
      out.push(...completeCall(state, call), backgroundReport(state));
    } else if (!natural) state.calls.delete(call.id);
  }
  return out;
}

const backgroundReport = (state: State): Report => ({ type: "background", open: [...state.background.values()] });

/** Todo tools of agents without plans. */
function todosOf(state: State, call: Call): Report[] {
  const { todos } = shapeOf(call.input);
  if (state.turn === "none" || call.thread.subagent !== null || !Array.isArray(todos)) return [];
  const list = planTodos(todos.map(shapeOf));
  return list.length === todos.length && list.length > 0 ? [{ type: "todo", todos: list }] : [];
}
