/**
 * Is this a line of Claude Code? Checks the tag and the fields we read; the schema in `claude-schema.ts` must agree.
 */
import {
  type ClaudeBlock,
  type ClaudeLine,
  type JsonObject,
  noticeSubtypes,
  quietSubtypes,
  quietTypes,
} from "./claude.ts";

export function isClaudeLine(value: unknown): value is ClaudeLine {
  if (!isObject(value) || typeof value.type !== "string" || !isOptionalText(value.uuid)) return false;
  return Object.hasOwn(types, value.type) && types[value.type]?.(value) === true;
}

/** Lines that no other agent writes: how a stream of unknown origin is told to be Claude Code's. */
export function isClaudeOnly(value: unknown): boolean {
  if (!isClaudeLine(value)) return false;
  if (value.type === "system" && value.subtype === "init") return value.claude_code_version !== undefined;
  if (value.type === "stream_event" || value.type === "control_request") return true;
  return value.type === "result" && (value.modelUsage !== undefined || value.terminal_reason !== undefined);
}

/** A content block by the fields we read; what we do not know is kept as it is. */
export function readBlock(value: unknown): ClaudeBlock {
  if (!isObject(value)) return { type: "other", native: { value } };
  const { type } = value;
  if (type === "text" && isText(value.text)) return { type, text: value.text };
  if (type === "thinking" && isText(value.thinking)) return { type, thinking: value.thinking };
  if ((type === "tool_use" || type === "server_tool_use") && isText(value.id) && isText(value.name)) {
    return { type, id: value.id, name: value.name, input: value.input ?? {} };
  }
  if (isText(type) && type.endsWith("tool_result") && isText(value.tool_use_id)) {
    const content = isText(value.content) || Array.isArray(value.content) ? value.content : undefined;
    return {
      type: "tool_result",
      tool_use_id: value.tool_use_id,
      ...(content === undefined ? {} : { content }),
      ...(typeof value.is_error === "boolean" ? { is_error: value.is_error } : {}),
    };
  }
  if (type === "image" && isObject(value.source)) {
    const { data, media_type } = value.source;
    return { type, source: { ...(isText(data) ? { data } : {}), ...(isText(media_type) ? { media_type } : {}) } };
  }
  return { type: "other", native: value };
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const isText = (value: unknown): value is string => typeof value === "string";
export const isNumber = (value: unknown): value is number => typeof value === "number";

type Check = (value: unknown) => boolean;

const isBoolean: Check = (value) => typeof value === "boolean";
const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const isOptionalText = isOptional(isText);
const isNullable =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null || check(value);
const isList =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** Every named field passes its check. */
const has =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) => {
    if (!isObject(value)) return false;
    for (const name in fields) if (fields[name]?.(value[name]) !== true) return false;
    return true;
  };

const errors = {
  api_error_type: isOptional(isText),
  api_error: isOptional(isText),
  api_error_status: isNullable(isNumber),
};

const scoped = {
  task_description: isOptional(isText),
  parent_tool_use_id: isNullable(isText),
  agent_id: isOptional(isText),
  subagent_type: isOptional(isText),
};
const anything: Check = () => true;

const usage = has({
  input_tokens: isOptional(isNumber),
  output_tokens: isOptional(isNumber),
  cache_creation_input_tokens: isNullable(isNumber),
  cache_read_input_tokens: isNullable(isNumber),
  output_tokens_details: isNullable(has({ thinking_tokens: isOptional(isNumber) })),
});
const modelUsage: Check = (value) =>
  isObject(value) &&
  Object.values(value).every(
    has({
      inputTokens: isOptional(isNumber),
      outputTokens: isOptional(isNumber),
      cacheReadInputTokens: isOptional(isNumber),
      cacheCreationInputTokens: isOptional(isNumber),
      thinkingTokens: isOptional(isNumber),
      costUSD: isOptional(isNumber),
    }),
  );

const task = { task_id: isText, task_type: isOptional(isText), description: isOptional(isText) };

const systems: Readonly<Record<string, Check>> = {
  init: has({
    session_id: isText,
    model: isText,
    cwd: isOptional(isText),
    tools: isOptional(isList(isText)),
    permissionMode: isOptional(isText),
    claude_code_version: isOptional(isText),
    user_message_uuids: isOptional(isList(isText)),
  }),
  status: has({ status: (value) => value === null || isText(value), permissionMode: isOptional(isText) }),
  api_retry: has({
    attempt: isNumber,
    retry_delay_ms: isNumber,
    error_status: isNullable(isNumber),
    error: isOptional(isText),
  }),
  permission_denied: has({ tool_name: isText, tool_use_id: isText, message: isText }),
  compact_boundary: has({ compact_metadata: isOptional(isObject) }),
  task_started: has({ ...task, tool_use_id: isOptional(isText), subagent_type: isOptional(isText) }),
  task_updated: has({ task_id: isText, patch: isObject }),
  task_notification: has({
    task_id: isText,
    tool_use_id: isOptional(isText),
    status: isText,
    summary: isOptional(isText),
  }),
  background_tasks_changed: has({ tasks: isList(has(task)) }),
  hook_started: has({ hook_id: isText, hook_name: isText }),
  hook_response: has({
    hook_id: isText,
    hook_name: isText,
    output: isOptional(isText),
    outcome: isOptional(isText),
  }),
  session_title_changed: has({ title: isText }),
  ...Object.fromEntries(
    noticeSubtypes.map((name) => [
      name,
      has({ content: isOptional(isText), text: isOptional(isText), fallback_model: isOptional(isText) }),
    ]),
  ),
  ...Object.fromEntries(quietSubtypes.map((name) => [name, anything])),
};

const streams: Readonly<Record<string, Check>> = {
  message_start: has({ message: has({ id: isText, usage: isOptional(usage) }) }),
  content_block_start: has({ index: isNumber, content_block: isObject }),
  content_block_delta: has({ index: isNumber, delta: isObject }),
  content_block_stop: has({ index: isNumber }),
  message_delta: has({ delta: has({ stop_reason: isNullable(isText) }), usage: isOptional(usage) }),
  message_stop: anything,
  ping: anything,
  error: anything,
};

const stream: Check = has({
  ...scoped,
  api_message_id: isOptional(isText),
  event: (value) => isObject(value) && isText(value.type) && streams[value.type]?.(value) === true,
});

const types: Readonly<Record<string, Check>> = {
  system: (value) => isObject(value) && isText(value.subtype) && systems[value.subtype]?.(value) === true,
  assistant: has({
    ...scoped,
    message: has({
      id: isText,
      model: isOptional(isText),
      content: Array.isArray,
      stop_reason: isNullable(isText),
      usage: isNullable(usage),
    }),
    error: isOptional(isText),
    ...errors,
  }),
  user: has({
    ...scoped,
    session_id: isOptional(isText),
    message: has({ content: (value) => isText(value) || Array.isArray(value) }),
    tool_result_meta: isOptional(Array.isArray),
  }),
  stream_event: stream,
  stream,
  result: has({
    ...errors,
    session_id: isOptional(isText),
    startup_failure_reason: isOptional(isText),
    subtype: isText,
    is_error: isBoolean,
    result: isOptional(isText),
    errors: isOptional(Array.isArray),
    stop_reason: isNullable(isText),
    terminal_reason: isOptional(isText),
    total_cost_usd: isOptional(isNumber),
    usage: isOptional(usage),
    modelUsage: isOptional(modelUsage),
    model_usage_since_last_result: isOptional(modelUsage),
    user_message_uuids: isOptional(isList(isText)),
  }),
  tool_use: (value) => isObject(value) && has({ id: isText, name: isText })(value.tool_use ?? value),
  tool_result: (value) => isObject(value) && has({ tool_use_id: isText })(value.tool_result ?? value),
  command_lifecycle: has({ command_uuid: isText, state: isText }),
  conversation_reset: has({ new_conversation_id: isText }),
  control_request: has({ request_id: isText, request: has({ subtype: isText }) }),
  control_response: has({
    response: has({ subtype: isText, request_id: isText, error: isOptional(isText) }),
  }),
  control_cancel_request: has({ request_id: isText }),
  ...Object.fromEntries(quietTypes.map((name) => [name, anything])),
};
