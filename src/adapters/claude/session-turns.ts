/** One turn of a session file as lines of the live stream: its prompt, what was said and done, and how it ended. */
import type { Recorded } from "../../core/recorded.ts";
import type { FileTurn } from "../../core/session-files.ts";
import { addTokens, noTokens } from "../../core/tokens.ts";
import { type ClaudeFileRecord, messageOf, textOf, userKind } from "../../dialects/claude-file.ts";
import { isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import { SYNTHETIC } from "./blocks.ts";
import { agentLine, assistantLines, boundaryLine, hostLine, userLine } from "./session-lines.ts";
import { resultIds, type SubagentFile } from "./session-subagents.ts";
import type { RecordedTurn } from "./session-tree.ts";
import { tokensOf } from "./usage.ts";

export interface TurnContext {
  readonly nativeId: string;
  /** Lines of its subagents, in order. */
  readonly subagents: readonly Recorded[];
  readonly subagentFiles: readonly SubagentFile[];
}

export function turnOf(turn: RecordedTurn, context: TurnContext): FileTurn | null {
  const { first, records } = turn;
  const end = endOf(records);
  if (end === null) return null;
  const work = records.flatMap((record, index) => linesOf(records, { record, index, turn, end }));
  const merged = merge(work, context.subagents);
  const at = records.at(-1)?.at ?? null;
  const last = end === "cut" ? exitAt(at) : agentLine(resultLine(turn, { end, context }), at);
  return {
    key: first.uuid,
    entries: [...beginning(turn, context), ...merged.before, last, ...merged.after],
    ended: end !== "cut",
  };
}

const exitAt = (at: number | null): Recorded => ({ type: "exit", exit: { code: null, signal: null }, at });

type End = "completed" | "aborted" | "error" | "cut" | "command";

/** No record ends a turn: its last words do. Null for a command that left nothing. */
function endOf(records: readonly ClaudeFileRecord[]): End | null {
  let end: End = "cut";
  let printed = false;
  for (const record of records) {
    const kind = record.type === "user" ? userKind(record) : null;
    if (kind === "interrupted") end = "aborted";
    else if (kind === "results") end = "cut";
    else if (kind === "command-output") printed ||= textOf(messageOf(record).content).length > EMPTY_OUTPUT;
    else if (record.type === "assistant" && !isFiller(record)) end = afterMessage(record);
  }
  const [first] = records;
  const isCommand = first?.type === "system" || (first !== undefined && userKind(first) === "command");
  if (end !== "cut" || !isCommand) return end;
  return printed || first?.type === "system" ? "command" : null;
}

const EMPTY_OUTPUT = "<local-command-stdout></local-command-stdout>".length;

/** Written by a later resume into a turn that was cut. */
const isFiller = (record: ClaudeFileRecord): boolean =>
  messageOf(record).model === SYNTHETIC && textOf(messageOf(record).content) === "No response requested.";

function afterMessage(record: ClaudeFileRecord): End {
  if (record.native.isApiErrorMessage === true) return "error";
  const { stopReason } = messageOf(record);
  return stopReason === null || stopReason === "tool_use" ? "cut" : "completed";
}

/** The prompt as a host sends it, then `init`, which begins the turn. */
function beginning({ first, records }: RecordedTurn, { nativeId }: TurnContext): Recorded[] {
  const said = records.find((record) => record.type === "assistant" && messageOf(record).model !== SYNTHETIC);
  const { cwd, version } = first.native;
  const init = agentLine(
    {
      type: "system",
      subtype: "init",
      session_id: nativeId,
      model: (said === undefined ? null : messageOf(said).model) ?? SYNTHETIC,
      ...(isString(cwd) ? { cwd } : {}),
      ...(isString(version) ? { claude_code_version: version } : {}),
    },
    first.at,
  );
  const notified = first.type === "user" && userKind(first) === "notification";
  if (notified) return [...notification(first), init];
  const command = first.type === "system" ? records.find(isCommandRecord) : undefined;
  const uuid = command?.uuid ?? (first.type === "system" ? `${first.uuid}/prompt` : first.uuid);
  return [hostLine({ type: "user", uuid, message: { content: promptOf({ first, records }) } }, first.at), init];
}

const isCommandRecord = (record: ClaudeFileRecord): boolean => record.type === "user" && userKind(record) === "command";

/** Slash commands and shell lines as a person types them. */
function promptOf({ first, records }: RecordedTurn): string | readonly unknown[] {
  const command = records.find(isCommandRecord);
  if (first.type === "system") return command === undefined ? "/compact" : commandText(command);
  const kind = userKind(first);
  if (kind === "command") return commandText(first);
  const { content } = messageOf(first);
  if (kind === "shell") return `!${tagged(textOf(content), "bash-input") ?? ""}`;
  return content;
}

function commandText(record: ClaudeFileRecord): string {
  const text = textOf(messageOf(record).content);
  const name = tagged(text, "command-name") ?? "";
  const words = tagged(text, "command-args")?.trim() ?? "";
  return `${name.startsWith("/") ? name : `/${name}`}${words === "" ? "" : ` ${words}`}`;
}

function tagged(text: string, tag: string): string | null {
  const start = text.indexOf(`<${tag}>`);
  const end = text.indexOf(`</${tag}>`, start);
  return start < 0 || end < 0 ? null : text.slice(start + tag.length + 2, end);
}

/** A background task is done; its notification begins a turn that nobody asked for. */
function notification(record: ClaudeFileRecord): Recorded[] {
  const text = textOf(messageOf(record).content);
  const task_id = tagged(text, "task-id");
  if (task_id === null) return [];
  const status = tagged(text, "status") ?? "completed";
  const summary = tagged(text, "result") ?? tagged(text, "summary") ?? "";
  const tool_use_id = tagged(text, "tool-use-id");
  const line = { type: "system", subtype: "task_notification", task_id, status, summary };
  return [agentLine(tool_use_id === null ? line : { ...line, tool_use_id }, record.at)];
}

interface Place {
  readonly record: ClaudeFileRecord;
  readonly index: number;
  readonly turn: RecordedTurn;
  readonly end: End;
}

function linesOf(records: readonly ClaudeFileRecord[], { record, index, turn, end }: Place): Recorded[] {
  switch (record.type) {
    case "assistant": {
      const cut = end === "aborted" && messageOf(record).stopReason === null;
      return isFiller(record) ? [] : assistantLines(records, { record, index, aborted: cut });
    }
    case "user":
      return record === turn.first ? [] : userLines(record);
    case "system":
      return record.native.subtype === "compact_boundary" ? [boundaryLine(record)] : [];
    case "attachment":
      return steered(record);
  }
}

function userLines(record: ClaudeFileRecord): Recorded[] {
  switch (userKind(record)) {
    case "results":
      return [...backgrounded(record), userLine(record)];
    case "summary":
      return [userLine(record)];
    case "command-output":
      return [
        agentLine({ type: "user", uuid: record.uuid, message: record.native.message, isReplay: true }, record.at),
      ];
    case "shell-output": {
      const text = textOf(messageOf(record).content);
      const printed = [tagged(text, "bash-stdout"), tagged(text, "bash-stderr")].filter((part) => part).join("\n");
      const content = `<local-command-stdout>${printed}</local-command-stdout>`;
      return printed === "" ? [] : [agentLine({ type: "user", uuid: record.uuid, message: { content } }, record.at)];
    }
    default:
      // Texts of the machine, which the live stream does not have either; an interrupt is in the turn's end.
      return [];
  }
}

/** The result of a call that went on in the background: the live stream says so before it. */
function backgrounded(record: ClaudeFileRecord): Recorded[] {
  const { isAsync, agentId, description } = shapeOf(record.native.toolUseResult);
  const [tool_use_id] = resultIds(record);
  if (isAsync !== true || !isString(agentId) || tool_use_id === undefined) return [];
  const task = { task_id: agentId, tool_use_id, task_type: "local_agent", is_backgrounded: true };
  const named = isString(description) ? { ...task, description } : task;
  return [agentLine({ type: "system", subtype: "task_started", ...named }, record.at)];
}

/** A prompt that joined the running turn. */
function steered({ native, uuid, at }: ClaudeFileRecord): Recorded[] {
  const { type, prompt, commandMode } = shapeOf(native.attachment);
  if (type !== "queued_command" || (commandMode !== undefined && commandMode !== "prompt")) return [];
  if (!isString(prompt) && !Array.isArray(prompt)) return [];
  return [agentLine({ type: "user", uuid, message: { content: prompt }, parent_tool_use_id: null }, at)];
}

/** Lines of subagents among the turn's own, by their times; those after the last of the turn come after its end. */
function merge(own: readonly Recorded[], subagents: readonly Recorded[]): { before: Recorded[]; after: Recorded[] } {
  const waiting = [...subagents];
  const before: Recorded[] = [];
  for (const line of own) {
    while (waiting[0] !== undefined && (waiting[0].at ?? 0) < (line.at ?? 0)) before.push(...waiting.splice(0, 1));
    before.push(line);
  }
  return { before, after: waiting };
}

function resultLine({ records }: RecordedTurn, { end, context }: { end: End; context: TurnContext }): Shape {
  const last = records.findLast((record) => record.type === "assistant" && !isFiller(record));
  const message = last === undefined ? null : messageOf(last);
  const text = message === null ? "" : textOf(message.content);
  const usage = usageOf([...records, ...context.subagentFiles.flatMap((file) => file.records)]);
  const line = { type: "result", session_id: context.nativeId, usage };
  switch (end) {
    case "aborted":
      return { ...line, subtype: "error_during_execution", is_error: true, terminal_reason: "aborted" };
    case "error": {
      const { apiErrorStatus = null, apiErrorType } = last?.native ?? {};
      const type = isString(apiErrorType) ? { api_error_type: apiErrorType } : {};
      return { ...line, ...type, subtype: "success", is_error: true, result: text, api_error_status: apiErrorStatus };
    }
    default:
      return { ...line, subtype: "success", is_error: false, stop_reason: message?.stopReason ?? null, result: text };
  }
}

/** Once per message: all blocks of a message repeat its usage, older versions with stand-ins on all but the last. */
function usageOf(records: readonly ClaudeFileRecord[]): Shape {
  const latest = new Map<string, ReturnType<typeof tokensOf>>();
  for (const record of records) {
    const { id, usage, stopReason, model } = messageOf(record);
    if (record.type !== "assistant" || id === null || usage === null || stopReason === null) continue;
    if (model !== SYNTHETIC) latest.set(id, tokensOf(usage));
  }
  const total = [...latest.values()].reduce(addTokens, noTokens());
  return {
    input_tokens: total.input,
    output_tokens: total.output + total.reasoning,
    cache_read_input_tokens: total.cache_read,
    cache_creation_input_tokens: total.cache_write,
    output_tokens_details: { thinking_tokens: total.reasoning },
  };
}
