/**
 * Is this a line of Claude Code? Checks the tag and the fields we read; the schema in `claude-schema.ts` must agree.
 */
import {
  type ClaudeBlock,
  type ClaudeLine,
  type ClaudeResult,
  type ClaudeResultLine,
  noticeSubtypes,
  quietSubtypes,
  quietTypes,
} from "./claude.ts";
import {
  anyOf,
  byTag,
  type Check,
  fields,
  isAnything,
  isBoolean,
  isListOf,
  isMapOf,
  isNumber,
  isShape,
  isString,
  nullable,
  nullish,
  optional,
  stringOf,
} from "./shape.ts";

/** Lines that no other agent writes: how a stream of unknown origin is recognised as Claude Code's. */
export function isClaudeOnly(value: unknown): boolean {
  if (!isClaudeLine(value)) return false;
  if (value.type === "system" && value.subtype === "init") return value.claude_code_version !== undefined;
  if (value.type === "stream_event" || value.type === "control_request") return true;
  return value.type === "result" && (value.modelUsage !== undefined || value.terminal_reason !== undefined);
}

/** A content block by the fields we read; what we do not know is kept as it is. */
export function readBlock(value: unknown): ClaudeBlock {
  if (!isShape(value)) return { type: "other", native: { value } };
  const { type } = value;
  if (type === "text" && isString(value.text)) return { type, text: value.text };
  if (type === "thinking" && isString(value.thinking)) return { type, thinking: value.thinking };
  if ((type === "tool_use" || type === "server_tool_use") && isString(value.id) && isString(value.name)) {
    return { type, id: value.id, name: value.name, input: value.input ?? {} };
  }
  if (isString(type) && type.endsWith("tool_result") && isString(value.tool_use_id)) {
    const content = isString(value.content) || Array.isArray(value.content) ? value.content : undefined;
    return {
      type: "tool_result",
      tool_use_id: value.tool_use_id,
      content,
      is_error: value.is_error === true,
    };
  }
  if (type === "image" && isShape(value.source)) {
    const { data, media_type } = value.source;
    return { type, source: { data: stringOf(data), media_type: stringOf(media_type) } };
  }
  return { type: "other", native: value };
}

/** A result with what it leaves out: without a word of an error, all went well. */
export function readResult(line: ClaudeResultLine): ClaudeResult {
  if (isRead(line)) return line;
  const { subtype = line.error === undefined ? "success" : "error_during_execution" } = line;
  return { ...line, subtype, is_error: line.is_error ?? subtype.startsWith("error") };
}

const isRead = (line: ClaudeResultLine): line is ClaudeResult =>
  line.subtype !== undefined && line.is_error !== undefined;

const optionalText = optional(isString);
const count = optional(isNumber);

const errors = {
  api_error_type: optionalText,
  api_error: optionalText,
  api_error_status: nullish(isNumber),
};

const scoped = {
  task_description: optionalText,
  parent_tool_use_id: nullish(isString),
  agent_id: optionalText,
  subagent_type: optionalText,
};

const usage = fields({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: nullish(isNumber),
  cache_read_input_tokens: nullish(isNumber),
  output_tokens_details: nullish(fields({ thinking_tokens: count })),
});
const modelUsage = isMapOf(
  fields({
    inputTokens: count,
    outputTokens: count,
    cacheReadInputTokens: count,
    cacheCreationInputTokens: count,
    thinkingTokens: count,
    costUSD: count,
  }),
);

const task = { task_id: isString, task_type: optionalText, description: optionalText };

const systems: Readonly<Record<string, Check>> = {
  init: fields({
    session_id: isString,
    model: isString,
    cwd: optionalText,
    tools: optional(isListOf(isString)),
    slash_commands: optional(isListOf(isString)),
    permissionMode: optionalText,
    claude_code_version: optionalText,
    user_message_uuids: optional(isListOf(isString)),
  }),
  status: fields({ status: nullable(isString), permissionMode: optionalText }),
  api_retry: fields({
    attempt: isNumber,
    retry_delay_ms: isNumber,
    error_status: nullish(isNumber),
    error: optionalText,
  }),
  permission_denied: fields({ tool_name: isString, tool_use_id: isString, message: isString }),
  compact_boundary: fields({ compact_metadata: optional(isShape) }),
  task_started: fields({ ...task, tool_use_id: optionalText, subagent_type: optionalText }),
  task_updated: fields({ task_id: isString, patch: isShape }),
  task_notification: fields({
    task_id: isString,
    tool_use_id: optionalText,
    status: isString,
    summary: optionalText,
  }),
  background_tasks_changed: fields({ tasks: isListOf(fields(task)) }),
  hook_started: fields({ hook_id: isString, hook_name: isString }),
  hook_response: fields({
    hook_id: isString,
    hook_name: isString,
    output: optionalText,
    outcome: optionalText,
  }),
  session_title_changed: fields({ title: isString }),
  ...Object.fromEntries(
    noticeSubtypes.map((name) => [
      name,
      fields({ content: optionalText, text: optionalText, fallback_model: optionalText }),
    ]),
  ),
  ...Object.fromEntries(quietSubtypes.map((name) => [name, isAnything])),
};

const streams: Readonly<Record<string, Check>> = {
  message_start: fields({ message: fields({ id: isString, usage: optional(usage) }) }),
  content_block_start: fields({ index: isNumber, content_block: isShape }),
  content_block_delta: fields({ index: count, delta: optional(isShape) }),
  content_block_stop: fields({ index: isNumber }),
  message_delta: fields({ delta: fields({ stop_reason: nullish(isString) }), usage: optional(usage) }),
  message_stop: isAnything,
  ping: isAnything,
  error: isAnything,
};

const stream: Check = fields({
  ...scoped,
  api_message_id: optionalText,
  event: byTag("type", streams),
});

const types: Readonly<Record<string, Check>> = {
  system: byTag("subtype", systems),
  assistant: fields({
    ...scoped,
    message: fields({
      id: optionalText,
      model: optionalText,
      content: Array.isArray,
      stop_reason: nullish(isString),
      usage: nullish(usage),
    }),
    error: optionalText,
    ...errors,
  }),
  user: fields({
    ...scoped,
    session_id: optionalText,
    message: fields({ content: anyOf(isString, Array.isArray) }),
    tool_result_meta: optional(Array.isArray),
  }),
  stream_event: stream,
  stream,
  result: fields({
    ...errors,
    session_id: optionalText,
    startup_failure_reason: optionalText,
    subtype: optionalText,
    is_error: optional(isBoolean),
    result: optionalText,
    error: optionalText,
    errors: optional(Array.isArray),
    stop_reason: nullish(isString),
    terminal_reason: optionalText,
    total_cost_usd: count,
    usage: optional(usage),
    modelUsage: optional(modelUsage),
    model_usage_since_last_result: optional(modelUsage),
    user_message_uuids: optional(isListOf(isString)),
  }),
  tool_use: (value) => isShape(value) && fields({ id: isString, name: isString })(value.tool_use ?? value),
  tool_result: (value) => isShape(value) && fields({ tool_use_id: isString })(value.tool_result ?? value),
  command_lifecycle: fields({ command_uuid: isString, state: isString }),
  conversation_reset: fields({ new_conversation_id: isString }),
  control_request: fields({ request_id: isString, request: fields({ subtype: isString }) }),
  control_response: fields({
    response: fields({ subtype: isString, request_id: isString, error: optionalText }),
  }),
  control_cancel_request: fields({ request_id: isString }),
  ...Object.fromEntries(quietTypes.map((name) => [name, isAnything])),
};

const isKnown = byTag("type", types);

export const isClaudeLine = (value: unknown): value is ClaudeLine =>
  isKnown(value) && isShape(value) && optionalText(value.uuid);
