/** Subagents and background commands: who is at work beside the main agent, and when each is done. */
import { defined } from "../../core/defined.ts";
import type { ItemHead, Report } from "../../core/report.ts";
import { statusHead } from "../../core/report-builders.ts";
import type {
  ClaudeBackgroundTasks,
  ClaudeTask,
  ClaudeTaskNotification,
  ClaudeTaskStarted,
} from "../../dialects/claude.ts";
import { isShape, isString, shapeOf } from "../../dialects/shape.ts";
import type { Subagent } from "../../protocol/items.ts";
import type { Background, State } from "./state.ts";

interface Scoped {
  readonly parent_tool_use_id?: string | null;
  readonly agent_id?: string;
  readonly subagent_type?: string;
  readonly task_description?: string;
}

/** The subagent a line is said in, if any. Its first line begins it where no task event has. */
export function subagentOf(state: State, out: Report[], line: Scoped): Subagent | undefined {
  const call = line.parent_tool_use_id;
  if (call === undefined || call === null) return undefined;
  const running = state.subagents.get(call);
  if (running !== undefined) return running.subagent;
  const tool = state.tools.get(call);
  const input = isShape(tool?.input) ? tool.input : {};
  const title = line.task_description ?? (isString(input.description) ? input.description : "Subagent");
  return beginSubagent(state, out, { id: line.agent_id ?? call, call, name: line.subagent_type, title });
}

export function onTaskStarted(state: State, line: ClaudeTaskStarted): Report[] {
  const out: Report[] = [];
  const { task_id, tool_use_id } = line;
  if (tool_use_id !== undefined) state.taskCalls.set(task_id, tool_use_id);
  if (isAgent(line) && tool_use_id !== undefined && !state.subagents.has(tool_use_id)) {
    const title = line.description ?? "Subagent";
    beginSubagent(state, out, { id: task_id, call: tool_use_id, name: line.subagent_type, title });
  }
  if (line.is_backgrounded === true) out.push(...putInBackground(state, backgroundOf(state, line)));
  return out;
}

/** The full set, which replaces the former. What left it is done, also when no notification said so. */
export function onBackgroundTasks(state: State, { tasks }: ClaudeBackgroundTasks): Report[] {
  const out: Report[] = [];
  const listed = new Set(tasks.map(({ task_id }) => task_id));
  for (const id of [...state.background.keys()]) {
    if (listed.has(id)) continue;
    out.push(...endTask(state, { id, status: "completed", summary: undefined }));
    state.background.delete(id);
  }
  for (const task of tasks) state.background.set(task.task_id, backgroundOf(state, task));
  out.push(backgroundReport(state));
  return out;
}

export function onTaskNotification(state: State, line: ClaudeTaskNotification): Report[] {
  const { task_id, summary } = line;
  const status = line.status === "completed" ? "completed" : "failed";
  const out = endTask(state, { id: task_id, status, summary });
  if (state.background.delete(task_id)) out.push(backgroundReport(state));
  state.taskCalls.delete(task_id);
  return out;
}

/** An Agent call has returned: in the foreground its subagent is done, in the background it goes on. */
export function onAgentResult(
  state: State,
  { call, returned, failed }: { call: string; returned: unknown; failed: boolean },
): Report[] {
  const answer = shapeOf(returned);
  const task = isString(answer.backgroundTaskId)
    ? answer.backgroundTaskId
    : isString(answer.agentId)
      ? answer.agentId
      : null;
  const running = state.subagents.get(call);
  if (isString(answer.backgroundTaskId) || answer.isAsync === true) {
    const id = running?.subagent.id ?? task;
    if (id === null || state.background.has(id)) return [];
    const tool = state.tools.get(call);
    const input = isShape(tool?.input) ? tool.input : {};
    const title = isString(input.description) ? input.description : (tool?.name ?? "Background task");
    return putInBackground(state, { id, kind: answer.isAsync === true ? "subagent" : "command", title, call_id: call });
  }
  if (running === undefined || state.background.has(running.subagent.id)) return [];
  return endSubagent(state, { id: running.subagent.id, status: failed ? "failed" : "completed", summary: undefined });
}

function beginSubagent(
  state: State,
  out: Report[],
  { id, call, name, title }: { id: string; call: string; name: string | undefined; title: string },
): Subagent {
  const subagent: Subagent = defined({ id, parent_call_id: call, name });
  state.subagents.set(call, { subagent, title });
  const named = { key: subagentKey(id), native_item_id: id, parent: call, subagent };
  out.push({ type: "open", item: statusHead({ label: title, ...named }) });
  return subagent;
}

interface Ended {
  readonly id: string;
  readonly status: "completed" | "failed";
  readonly summary: string | undefined;
}

/** A subagent, or a command in the background. */
function endTask(state: State, ended: Ended): Report[] {
  const out = endSubagent(state, ended);
  const work = state.background.get(ended.id);
  if (out.length > 0 || work === undefined || work.kind !== "command") return out;
  const content = [defined({ type: "status" as const, label: work.title, detail: ended.summary })];
  return [{ type: "close", key: taskKey(work.id), status: ended.status, content, item: taskHead(work) }];
}

function endSubagent(state: State, { id, status, summary }: Ended): Report[] {
  for (const [call, { subagent, title }] of state.subagents) {
    if (subagent.id !== id && state.taskCalls.get(id) !== call) continue;
    state.subagents.delete(call);
    const content = [defined({ type: "status" as const, label: title, detail: summary })];
    return [{ type: "close", key: subagentKey(subagent.id), status, content }];
  }
  return [];
}

/** A command in the background is a status item until it ends; a subagent has one already. */
function putInBackground(state: State, work: Background): Report[] {
  state.background.set(work.id, work);
  return work.kind === "command"
    ? [backgroundReport(state), { type: "open", item: taskHead(work) }]
    : [backgroundReport(state)];
}

const taskKey = (id: string): string => `task/${id}`;

const taskHead = ({ id, title, call_id }: Background): ItemHead =>
  statusHead({ key: taskKey(id), native_item_id: id, parent: call_id, label: title });

function backgroundOf(state: State, task: ClaudeTask): Background {
  const call = state.taskCalls.get(task.task_id) ?? state.background.get(task.task_id)?.call_id;
  return defined({
    id: task.task_id,
    kind: isAgent(task) ? "subagent" : "command",
    title: task.description ?? task.task_id,
    call_id: call,
  });
}

const backgroundReport = (state: State): Report => ({ type: "background", open: [...state.background.values()] });

const isAgent = ({ task_type, subagent_type }: ClaudeTask): boolean =>
  task_type === "local_agent" || subagent_type !== undefined;

const subagentKey = (id: string): string => `subagent/${id}`;
