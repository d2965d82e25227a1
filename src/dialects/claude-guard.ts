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
  byTag,
  type Fields,
  fieldsOf,
  isAnything,
  isBoolean,
  isListOf,
  isMapOf,
  isNullishNumber,
  isNullishString,
  isNumber,
  isOptionalNumber,
  isOptionalString,
  isShape,
  isString,
  named,
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

const errors: Fields = ({ api_error_type, api_error, api_error_status }) =>
  isOptionalString(api_error_type) && isOptionalString(api_error) && isNullishNumber(api_error_status);

const scope: Fields = ({ task_description, parent_tool_use_id, agent_id, subagent_type }) =>
  isOptionalString(task_description) &&
  isNullishString(parent_tool_use_id) &&
  isOptionalString(agent_id) &&
  isOptionalString(subagent_type);

const usage = fieldsOf(
  (counts) =>
    isOptionalNumber(counts.input_tokens) &&
    isOptionalNumber(counts.output_tokens) &&
    isNullishNumber(counts.cache_creation_input_tokens) &&
    isNullishNumber(counts.cache_read_input_tokens) &&
    isUsageDetails(counts.output_tokens_details),
);
const isUsageDetails = nullish(fieldsOf(({ thinking_tokens }) => isOptionalNumber(thinking_tokens)));
const isOptionalUsage = optional(usage);
const isModelUsage = optional(
  isMapOf(
    fieldsOf(
      (model) =>
        isOptionalNumber(model.inputTokens) &&
        isOptionalNumber(model.outputTokens) &&
        isOptionalNumber(model.cacheReadInputTokens) &&
        isOptionalNumber(model.cacheCreationInputTokens) &&
        isOptionalNumber(model.thinkingTokens) &&
        isOptionalNumber(model.costUSD),
    ),
  ),
);

const isTexts = optional(isListOf(isString));
const isOptionalList = optional(Array.isArray);

const task: Fields = ({ task_id, task_type, description }) =>
  isString(task_id) && isOptionalString(task_type) && isOptionalString(description);
const isTasks = isListOf(fieldsOf(task));

const systems: Readonly<Record<string, Fields>> = {
  init: (line) =>
    isString(line.session_id) &&
    isString(line.model) &&
    isOptionalString(line.cwd) &&
    isTexts(line.tools) &&
    isTexts(line.slash_commands) &&
    isOptionalString(line.permissionMode) &&
    isOptionalString(line.claude_code_version) &&
    isTexts(line.user_message_uuids),
  status: ({ status, permissionMode }) => (status === null || isString(status)) && isOptionalString(permissionMode),
  api_retry: ({ attempt, retry_delay_ms, error_status, error }) =>
    isNumber(attempt) && isNumber(retry_delay_ms) && isNullishNumber(error_status) && isOptionalString(error),
  permission_denied: ({ tool_name, tool_use_id, message }) =>
    isString(tool_name) && isString(tool_use_id) && isString(message),
  compact_boundary: ({ compact_metadata }) => compact_metadata === undefined || isShape(compact_metadata),
  task_started: (line) => task(line) && isOptionalString(line.tool_use_id) && isOptionalString(line.subagent_type),
  task_updated: ({ task_id, patch }) => isString(task_id) && isShape(patch),
  task_notification: ({ task_id, tool_use_id, status, summary }) =>
    isString(task_id) && isOptionalString(tool_use_id) && isString(status) && isOptionalString(summary),
  background_tasks_changed: ({ tasks }) => isTasks(tasks),
  hook_started: ({ hook_id, hook_name }) => isString(hook_id) && isString(hook_name),
  hook_response: ({ hook_id, hook_name, output, outcome }) =>
    isString(hook_id) && isString(hook_name) && isOptionalString(output) && isOptionalString(outcome),
  session_title_changed: ({ title }) => isString(title),
  ...named(
    noticeSubtypes,
    ({ content, text, fallback_model }) =>
      isOptionalString(content) && isOptionalString(text) && isOptionalString(fallback_model),
  ),
  ...named(quietSubtypes, isAnything),
};

const isStarted = fieldsOf(({ id, usage: used }) => isString(id) && isOptionalUsage(used));
const isDelta = fieldsOf(({ stop_reason }) => isNullishString(stop_reason));

const isStreamEvent = byTag("type", {
  message_start: ({ message }) => isStarted(message),
  content_block_start: ({ index, content_block }) => isNumber(index) && isShape(content_block),
  content_block_delta: ({ index, delta }) => isOptionalNumber(index) && (delta === undefined || isShape(delta)),
  content_block_stop: ({ index }) => isNumber(index),
  message_delta: ({ delta, usage: used }) => isDelta(delta) && isOptionalUsage(used),
  message_stop: isAnything,
  ping: isAnything,
  error: isAnything,
});

const stream: Fields = (line) => scope(line) && isOptionalString(line.api_message_id) && isStreamEvent(line.event);

const isMessage = fieldsOf(
  (message) =>
    isOptionalString(message.id) &&
    isOptionalString(message.model) &&
    Array.isArray(message.content) &&
    isNullishString(message.stop_reason) &&
    (message.usage === null || isOptionalUsage(message.usage)),
);
const isUserMessage = fieldsOf(({ content }) => isString(content) || Array.isArray(content));
const isToolUse = fieldsOf(({ id, name }) => isString(id) && isString(name));
const isToolResult = fieldsOf(({ tool_use_id }) => isString(tool_use_id));
const isRequest = fieldsOf(({ subtype }) => isString(subtype));
const isResponse = fieldsOf(
  ({ subtype, request_id, error }) => isString(subtype) && isString(request_id) && isOptionalString(error),
);

const isSystem = byTag("subtype", systems);

const isKnown = byTag("type", {
  system: isSystem,
  assistant: (line) => scope(line) && isMessage(line.message) && isOptionalString(line.error) && errors(line),
  user: (line) =>
    scope(line) &&
    isOptionalString(line.session_id) &&
    isUserMessage(line.message) &&
    isOptionalList(line.tool_result_meta),
  stream_event: stream,
  stream,
  result: (line) =>
    errors(line) &&
    isOptionalString(line.session_id) &&
    isOptionalString(line.startup_failure_reason) &&
    isOptionalString(line.subtype) &&
    (line.is_error === undefined || isBoolean(line.is_error)) &&
    isOptionalString(line.result) &&
    isOptionalString(line.error) &&
    isOptionalList(line.errors) &&
    isNullishString(line.stop_reason) &&
    isOptionalString(line.terminal_reason) &&
    isOptionalNumber(line.total_cost_usd) &&
    isOptionalUsage(line.usage) &&
    isModelUsage(line.modelUsage) &&
    isModelUsage(line.model_usage_since_last_result) &&
    isTexts(line.user_message_uuids),
  tool_use: (line) => isToolUse(line.tool_use ?? line),
  tool_result: (line) => isToolResult(line.tool_result ?? line),
  command_lifecycle: ({ command_uuid, state }) => isString(command_uuid) && isString(state),
  conversation_reset: ({ new_conversation_id }) => isString(new_conversation_id),
  control_request: ({ request_id, request }) => isString(request_id) && isRequest(request),
  control_response: ({ response }) => isResponse(response),
  control_cancel_request: ({ request_id }) => isString(request_id),
  ...named(quietTypes, isAnything),
});

export const isClaudeLine = (value: unknown): value is ClaudeLine =>
  isKnown(value) && isShape(value) && isOptionalString(value.uuid);
