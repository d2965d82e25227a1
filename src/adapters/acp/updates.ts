/** `session/update`: one case per kind, of the session itself and of its subagents. */
import { textFromBase64 } from "../../core/base64.ts";
import { unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import { statusHead, whole } from "../../core/report-builders.ts";
import type { AcpUpdate, UpdateOf } from "../../dialects/acp.ts";
import { isNumber, isString, shapeOf } from "../../dialects/shape.ts";
import { onChunk, onMessage } from "./blocks.ts";
import { addOutput, onContentChunk, onTool } from "./calls.ts";
import { onOptions } from "./config.ts";
import { onCommands } from "./slash-commands.ts";
import { isOpening, nextKey, type State, type Thread, threadOf } from "./state.ts";
import { beginSubagent, endSubagent } from "./subagents.ts";
import { planTodos } from "./todos.ts";
import { endTurn, onStateUpdate } from "./turns.ts";
import { onUsageUpdate } from "./usage.ts";
import { noteWork } from "./work.ts";

export function onUpdate(state: State, { sessionId, update }: { sessionId: string; update: AcpUpdate }): Report[] {
  if (update.sessionUpdate === "available_commands_update") {
    const isOwn = state.session === null || sessionId === state.session;
    return isOwn ? onCommands(state, update.availableCommands) : [];
  }
  // The past that is replayed when a session is loaded or forked is in our log already.
  if (isReplaying(state, update)) return isSetting(update) ? onSetting(state, update) : [];
  // Some speak of a session before they have said its name.
  if (state.session === null && isOpening(state)) return [];
  const child = named(state, sessionId, update);
  const begun = child === null ? [] : beginSubagent(state, { id: child, title: state.calls.get(child)?.title ?? null });
  const thread = threadOf(state, child ?? sessionId);
  return thread.subagent !== null && isForSession(update) ? [] : [...begun, ...onLive(state, thread, update)];
}

/** One fork repeats its past before it has a name: that begins with a prompt, which nobody echoes otherwise. */
function isReplaying(state: State, { sessionUpdate }: AcpUpdate): boolean {
  if (state.session === null && sessionUpdate === "user_message_chunk") state.forked = true;
  if (state.session === null && state.forked) return true;
  for (const { context } of state.rpc.pending.values()) if (context.type === "open" && context.drops) return true;
  return false;
}

/** Where the subagent is only named beside the protocol, its updates come under the session's own id. */
function named(state: State, sessionId: string, update: AcpUpdate): string | null {
  const meta = "_meta" in update ? update._meta : undefined;
  if (meta === undefined || sessionId !== state.session) return null;
  return state.quirks.subagentOf?.(meta)?.id ?? null;
}

type Setting = UpdateOf<"current_mode_update" | "config_option_update" | "session_info_update">;

const isSetting = (update: AcpUpdate): update is Setting =>
  update.sessionUpdate === "current_mode_update" ||
  update.sessionUpdate === "config_option_update" ||
  update.sessionUpdate === "session_info_update";

/** What a subagent says about its own modes, plans and counts is its own affair. */
const isForSession = (update: AcpUpdate): boolean =>
  isSetting(update) || ["plan", "usage_update", "state_update", "user_message_chunk"].includes(update.sessionUpdate);

function onSetting(state: State, update: Setting): Report[] {
  switch (update.sessionUpdate) {
    case "current_mode_update":
      return [{ type: "session", mode: update.currentModeId }];
    case "config_option_update":
      return onOptions(state, update.configOptions);
    case "session_info_update":
      return onInfo(state, update);
    default:
      return unreachable(update);
  }
}

function onLive(state: State, thread: Thread, update: AcpUpdate): Report[] {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return onChunk(state, thread, update);
    case "agent_message":
    case "agent_thought":
      return onMessage(state, thread, update);
    case "tool_call":
      return onTool(state, thread, { tool: update, from: "call" });
    case "tool_call_update":
      return onTool(state, thread, { tool: update, from: state.version === 2 ? "call" : "update" });
    case "tool_call_content_chunk":
      return onContentChunk(state, update);
    case "plan":
      state.said = true;
      return [{ type: "todo", todos: planTodos(update.entries) }];
    case "current_mode_update":
    case "config_option_update":
    case "session_info_update":
      return onSetting(state, update);
    case "usage_update":
      return [...onUsageUpdate(update), ...unaskedEnd(state, update._meta)];
    case "notice":
      return onNotice(state, update);
    case "compaction_update":
      return onCompaction(state, update);
    case "subagent_update":
      return onSubagent(state, update);
    case "state_update":
      return onStateUpdate(state, update);
    case "terminal_update":
      return onTerminal(state, update);
    case "terminal_output_chunk":
      return addTo(state, update.terminalId, textFromBase64(update.data));
    case "available_commands_update":
      return onCommands(state, update.availableCommands);
    case "plan_update":
    case "plan_removed":
    case "compaction_summary_chunk":
    case "session_message":
    case "session_message_chunk":
    case "user_message":
    case "user_message_chunk":
      // The prompt is ours; a subagent's task is in the call that spawned it.
      return [];
    default:
      return unreachable(update);
  }
}

const unaskedEnd = (state: State, meta: unknown): Report[] =>
  state.turn === "unasked" && state.quirks.endsUnasked?.(meta) === true ? endTurn(state, { reason: "completed" }) : [];

/** A title; and beside the protocol, that the provider is asked again. */
function onInfo(state: State, { title, _meta }: UpdateOf<"session_info_update">): Report[] {
  const named: Report[] = isString(title) ? [{ type: "session", title }] : [];
  const meta = shapeOf(_meta);
  const { error, threadStatus } = shapeOf(meta.codex);
  if (shapeOf(threadStatus).type === "systemError") state.alarmed = true;
  const { sessionFailure } = shapeOf(shapeOf(meta.jetbrains).air);
  const { message, additionalDetails, willRetry } = shapeOf(error);
  const failure = shapeOf(sessionFailure);
  const retried = willRetry === true ? message : failure.severity === "warning" ? failure.title : undefined;
  if (!isString(retried) || state.turn === "none") return named;
  const detail = isString(additionalDetails) ? additionalDetails : retried;
  return [...named, { type: "state", state: "retrying", attempt: attemptOf(retried), message: detail, delayMs: 0 }];
}

/** "Reconnecting... 2/5", "attempt 1 of 2". */
function attemptOf(message: string): number {
  const [, attempt] = /(\d{1,9})\s?(?:\/|of)\s?\d/.exec(message) ?? [];
  return attempt === undefined ? 1 : Number(attempt);
}

function onNotice(state: State, { title, description, severity }: UpdateOf<"notice">): Report[] {
  const item = statusHead({
    key: nextKey(state, "notice"),
    native_item_id: null,
    label: title ?? severity ?? "Notice",
    detail: description ?? "",
  });
  return whole(item);
}

function onCompaction(state: State, { compactionId, status, summary }: UpdateOf<"compaction_update">): Report[] {
  state.said = true;
  const key = `compaction/${compactionId}`;
  const label = { type: "status" as const, label: "Context compacted" };
  const content = isString(summary) && summary !== "" ? [label, { type: "text" as const, text: summary }] : [label];
  const item = { key, native_item_id: compactionId, kind: "system" as const, role: "system" as const, content };
  if (status === "in_progress") {
    return [...noteWork(state), { type: "state", state: "compacting" }, { type: "open", item }];
  }
  return [
    { type: "close", key, status: status === "completed" ? "completed" : "failed", content, item },
    { type: "state", state: "running" },
  ];
}

function onSubagent(
  state: State,
  { sessionId, title, description, state: now }: UpdateOf<"subagent_update">,
): Report[] {
  const begun = state.threads.has(sessionId)
    ? []
    : beginSubagent(state, { id: sessionId, title: title ?? description ?? null });
  if (now == null) return begun;
  if (now.state === "idle")
    return [...begun, ...endSubagent(state, { id: sessionId, failed: now.stopReason !== "end_turn" })];
  return begun;
}

/** Terminals of version 2 are the agent's own; their ids are those of tool calls, or in the call's content. */
function onTerminal(state: State, { terminalId, output, exitStatus }: UpdateOf<"terminal_update">): Report[] {
  const call = callOf(state, terminalId);
  if (call !== undefined && isNumber(exitStatus?.exitCode)) call.exitCode = exitStatus.exitCode;
  if (output == null || call === undefined) return [];
  const text = textFromBase64(output.data);
  return text.startsWith(call.output) ? addOutput(call, text.slice(call.output.length)) : [];
}

const addTo = (state: State, terminal: string, text: string): Report[] => {
  const call = callOf(state, terminal);
  return call === undefined ? [] : addOutput(call, text);
};

const callOf = ({ calls }: State, terminal: string) =>
  calls.get(terminal) ??
  [...calls.values()].find(({ content }) => content.some(({ terminalId }) => terminalId === terminal));
