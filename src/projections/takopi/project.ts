/**
 * Universal → Takopi: `started`, actions, `completed`. One run is one turn, and `completed` is always its last line.
 */

import { subjectOf } from "../../core/approval-words.ts";
import { budgetWords } from "../../core/budget-words.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { TakopiEvent } from "../../dialects/takopi.ts";
import type { EventOf, UniversalEvent } from "../../protocol/events.ts";
import type { ContentPart, Item, ToolCallPart } from "../../protocol/items.ts";
import { beginAction, clip, emitNote, endAction, kindOf, leaveActions } from "./actions.ts";
import { answerOf, engineOf, problemOf } from "./answer.ts";
import { announce, announceAs, tokenOf } from "./lines.ts";
import { type Rendering, type Run, type State, start, type TakopiOptions } from "./state.ts";

export const takopiFold = (options: TakopiOptions = {}): Fold<UniversalEvent, TakopiEvent, State> => ({
  start: () => start(options),
  step(state, event) {
    const rendering: Rendering = { state, event, out: [] };
    learn(rendering);
    render(rendering, event);
    return rendering.out;
  },
});

/** What is known of the session; the agent's first word in a run follows what it has said of itself. */
function learn(rendering: Rendering): void {
  const { state, event } = rendering;
  if (event.native_session_id !== null) state.native = event.native_session_id;
  if (event.type === "session.started") onSessionStarted(state, event);
  if (event.type === "session.updated") onSessionUpdated(state, event);
  if (state.run !== null && event.source === "agent" && event.type !== "turn.started") announce(rendering, state.run);
}

function render(rendering: Rendering, event: UniversalEvent): void {
  const { state } = rendering;
  const { run } = state;
  switch (event.type) {
    case "session.started":
    case "session.updated":
    case "session.ended":
    case "permission.requested":
    case "item.delta":
    case "turn.continued":
      return;
    case "turn.started":
      return onTurnStarted(rendering);
    case "turn.ended":
      return onTurnEnded(rendering, event);
    case "item.started":
      return;
    case "item.completed":
      return onItem(rendering, event.data.item);
    default:
      // What happens outside a run has no line in this format.
      if (run !== null) return onNote(rendering, { run, event });
  }
}

type Notable = Exclude<
  UniversalEvent,
  {
    type:
      | "session.started"
      | "session.updated"
      | "session.ended"
      | "permission.requested"
      | "item.started"
      | "item.delta"
      | "item.completed"
      | "turn.started"
      | "turn.continued"
      | "turn.ended";
  }
>;

function onNote(rendering: Rendering, { run, event }: { run: Run; event: Notable }): void {
  switch (event.type) {
    case "turn.state":
      return onState(rendering, { run, data: event.data });
    case "permission.resolved":
      return onPermission(rendering, { run, data: event.data });
    case "question.requested":
      return emitNote(rendering, {
        run,
        kind: "note",
        name: "question",
        title: `Question: ${event.data.prompt}`,
        detail: { question_id: event.data.question_id, options: event.data.options },
        ok: true,
        level: "info",
      });
    case "question.resolved":
      if (event.data.status !== "rejected") return;
      return warn(rendering, { run, name: "question.rejected", title: `Not answered: ${event.data.prompt}` });
    case "todo.updated":
      return onTodos(rendering, { run, data: event.data });
    case "usage.updated":
      return onUsage(rendering, { run, data: event.data });
    case "error":
      // A fatal error is the error of `completed`.
      if (event.data.fatal) return;
      return emitNote(rendering, {
        run,
        kind: "warning",
        name: "error",
        title: event.data.message,
        detail: { code: event.data.code },
        ok: false,
        level: "error",
      });
    case "budget.updated":
      return warn(rendering, { run, name: "budget", title: budgetWords(event.data) });
    case "agent.unparsed":
      return warn(rendering, { run, name: "unparsed", title: event.data.error });
    default:
      return unreachable(event);
  }
}

function warn(rendering: Rendering, { run, name, title }: { run: Run; name: string; title: string }): void {
  emitNote(rendering, { run, kind: "warning", name, title, ok: false, level: "warning" });
}

function onSessionStarted(state: State, { data }: EventOf<"session.started">): void {
  const { agent, agent_version, model, directory, permission_mode, tools } = data.metadata;
  nameAgent(state, agent);
  state.title = model;
  state.directory = directory ?? "";
  state.meta = { cwd: directory, model, agent_version, permission_mode, tools };
}

function onSessionUpdated(state: State, { data }: EventOf<"session.updated">): void {
  const { agent, agent_version, model, directory, permission_mode, tools } = data;
  if (agent !== undefined) nameAgent(state, agent);
  if (typeof model === "string") state.title = model;
  if (directory !== undefined) state.directory = directory;
  const news = { cwd: directory, model, agent_version, permission_mode, tools };
  for (const [name, value] of Object.entries(news)) if (value !== undefined) state.meta[name] = value;
}

function nameAgent(state: State, agent: string): void {
  state.agent = agent;
  if (state.options.engine === undefined) state.engine = engineOf(agent);
}

function onTurnStarted(rendering: Rendering): void {
  const { state } = rendering;
  state.runs += 1;
  state.actions.clear();
  state.run = { started: null, waiting: [], saying: [], message: null, said: "", over: new Set(), counts: new Map() };
}

function onTurnEnded(rendering: Rendering, { data }: EventOf<"turn.ended">): void {
  const { state, out, event } = rendering;
  const { run } = state;
  if (run === null) return;
  for (const work of data.background) {
    const title = `Still running in the background: ${work.title === "" ? work.kind : work.title}`;
    emitNote(rendering, { run, kind: "note", name: "background", title, detail: { ...work }, ok: true, level: "info" });
  }
  leaveActions(rendering);
  const ok = data.reason === "completed";
  announce(rendering, run);
  // An agent without ids of its own is resumed by ours. Without any token there is only the end.
  if (ok) announceAs(rendering, { run, token: tokenOf(state, event.session_id) });
  const { tokens, cost_usd: total_cost_usd } = data.usage;
  const { input, output, reasoning, cache_read, cache_write } = tokens;
  out.push({
    type: "completed",
    engine: state.engine,
    ok,
    answer: answerOf(run, data),
    resume: run.started,
    error: ok ? null : problemOf(data),
    usage: { total_cost_usd, tokens: { input, output, reasoning, cache_read, cache_write } },
  });
  state.run = null;
}

function onItem(rendering: Rendering, item: Item): void {
  const { state } = rendering;
  const { run } = state;
  if (run === null) return;
  switch (item.kind) {
    case "message":
      return onMessage(rendering, { run, item });
    case "tool_call": {
      const call = item.content.find((part) => part.type === "tool_call");
      if (call === undefined) return;
      if (item.subagent === undefined && !isNote(call, state.agent)) hush(run);
      return run.over.has(call.call_id) ? undefined : beginAction(rendering, { item, call });
    }
    case "tool_result": {
      const result = item.content.find((part) => part.type === "tool_result");
      if (result === undefined || run.over.has(result.call_id)) return;
      run.over.add(result.call_id);
      return endAction(rendering, { item, result, failed: item.status === "failed" });
    }
    case "status":
      return onStatus(rendering, { run, item });
    case "system":
    case "unknown":
      return;
    default:
      return unreachable(item.kind);
  }
}

/** Todos and questions stand beside the answer: they do not cut it. */
const isNote = ({ name, tool_kind: kind }: ToolCallPart, agent: string): boolean =>
  kindOf({ agent, name, kind }) === "note";

/** A tool was called: what was said before it was not the answer. */
function hush(run: Run): void {
  const text = run.saying.join("");
  if (text.trim() !== "") run.said = text;
  run.saying = [];
}

/** An answer in the shape that was asked for is an answer all the same. */
function shaped({ content }: Item): Extract<ContentPart, { type: "text" }> | undefined {
  const part = content.find((one) => one.type === "json");
  return part === undefined ? undefined : { type: "text", text: JSON.stringify(part.json) };
}

function onMessage(rendering: Rendering, { run, item }: { run: Run; item: Item }): void {
  if (item.role !== "assistant") return;
  const part = item.content.find((one) => one.type === "text" || one.type === "reasoning") ?? shaped(item);
  if (part === undefined || part.text.trim() === "") return;
  if (part.type === "reasoning") {
    const detail = item.subagent === undefined ? {} : { parent: item.subagent.parent_call_id ?? item.subagent.id };
    return emitNote(rendering, {
      run,
      kind: "note",
      name: "thinking",
      title: part.text,
      detail,
      ok: true,
      level: "info",
    });
  }
  // What broke off was said again, or the run failed; what a subagent said is its parent's affair.
  if (item.status === "failed" || item.subagent !== undefined) {
    if (item.subagent === undefined && run.said === "") run.said = part.text;
    return;
  }
  if (run.saying.length > 0) run.saying.push(item.message_id === run.message && item.message_id !== null ? "" : "\n\n");
  run.message = item.message_id;
  run.saying.push(part.text);
}

/** A status that is not a subagent's is about something that went wrong, most often a denial. */
function onStatus(rendering: Rendering, { run, item }: { run: Run; item: Item }): void {
  if (item.subagent !== undefined) return;
  const status = item.content.find((part) => part.type === "status");
  if (status === undefined) return;
  const title = status.detail === undefined ? status.label : `${status.label}: ${status.detail}`;
  if (/den(y|ied)|reject|refus|block/i.test(status.label)) return warn(rendering, { run, name: "denied", title });
  emitNote(rendering, { run, kind: "note", name: "status", title, ok: true, level: "info" });
}

function onState(rendering: Rendering, { run, data }: { run: Run; data: EventOf<"turn.state">["data"] }): void {
  if (data.state !== "retrying") return;
  const { attempt = 1, message = "" } = data;
  warn(rendering, { run, name: "retry", title: `Retrying (${attempt}): ${message}` });
}

function onPermission(
  rendering: Rendering,
  { run, data }: { run: Run; data: EventOf<"permission.resolved">["data"] },
): void {
  if (data.status !== "reject") return;
  const what = subjectOf(data) || (data.metadata.tool ?? "");
  warn(rendering, { run, name: "denied", title: `Permission denied: ${data.action} ${what}`.trim() });
}

function onTodos(rendering: Rendering, { run, data }: { run: Run; data: EventOf<"todo.updated">["data"] }): void {
  // A todo tool is an action already; a plan that comes without one is a note.
  for (const entry of rendering.state.actions.values()) if (entry.kind === "note") return;
  const done = data.todos.filter(({ status }) => status === "completed").length;
  const next = data.todos.find(({ status }) => status === "in_progress" || status === "pending");
  const title = `todo ${done}/${data.todos.length}${next === undefined ? "" : `: ${next.content}`}`;
  emitNote(rendering, {
    run,
    kind: "note",
    name: "todo",
    title,
    detail: { todos: data.todos },
    ok: true,
    level: "info",
  });
}

function onUsage(rendering: Rendering, { run, data }: { run: Run; data: EventOf<"usage.updated">["data"] }): void {
  if (data.step === null) return;
  const { index, finish, tokens, cost_usd } = data.step;
  const detail = { index, finish, tokens, cost_usd };
  const title = `model step ${index}`;
  emitNote(rendering, { run, kind: "turn", name: "step", title: clip(title, 60), detail, ok: true, level: "info" });
}
