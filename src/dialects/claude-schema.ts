/** The same shapes as `claude-guard.ts`, for tests: loose about extra fields, strict about the fields we read. */
import * as z from "zod";
import { noticeSubtypes, quietSubtypes, quietTypes } from "./claude.ts";

const text = z.string();
const errors = {
  api_error_type: text.optional(),
  api_error: text.optional(),
  api_error_status: z.number().nullish(),
};
const scoped = {
  task_description: text.optional(),
  parent_tool_use_id: text.nullish(),
  agent_id: text.optional(),
  subagent_type: text.optional(),
};
const common = { uuid: text.optional() };

const Usage = z.looseObject({
  input_tokens: z.number().optional(),
  output_tokens: z.number().optional(),
  cache_creation_input_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
  output_tokens_details: z.looseObject({ thinking_tokens: z.number().optional() }).nullish(),
});
const ModelUsage = z.record(
  text,
  z.looseObject({
    inputTokens: z.number().optional(),
    outputTokens: z.number().optional(),
    cacheReadInputTokens: z.number().optional(),
    cacheCreationInputTokens: z.number().optional(),
    thinkingTokens: z.number().optional(),
    costUSD: z.number().optional(),
  }),
);
const Task = { task_id: text, task_type: text.optional(), description: text.optional() };
const Loose = z.record(text, z.unknown());

const system = <Name extends string, Fields extends z.ZodRawShape>(name: Name, fields: Fields) =>
  z.looseObject({ ...common, type: z.literal("system"), subtype: z.literal(name), ...fields });

const System = z.discriminatedUnion("subtype", [
  system("init", {
    session_id: text,
    model: text,
    cwd: text.optional(),
    tools: z.array(text).optional(),
    slash_commands: z.array(text).optional(),
    permissionMode: text.optional(),
    claude_code_version: text.optional(),
    user_message_uuids: z.array(text).optional(),
  }),
  system("status", { status: text.nullable(), permissionMode: text.optional() }),
  system("api_retry", {
    attempt: z.number(),
    retry_delay_ms: z.number(),
    error_status: z.number().nullish(),
    error: text.optional(),
  }),
  system("permission_denied", { tool_name: text, tool_use_id: text, message: text }),
  system("compact_boundary", { compact_metadata: Loose.optional() }),
  system("task_started", { ...Task, tool_use_id: text.optional(), subagent_type: text.optional() }),
  system("task_updated", { task_id: text, patch: Loose }),
  system("task_notification", {
    task_id: text,
    tool_use_id: text.optional(),
    status: text,
    summary: text.optional(),
  }),
  system("background_tasks_changed", { tasks: z.array(z.looseObject(Task)) }),
  system("hook_started", { hook_id: text, hook_name: text }),
  system("hook_response", { hook_id: text, hook_name: text, output: text.optional(), outcome: text.optional() }),
  system("session_title_changed", { title: text }),
  z.looseObject({
    ...common,
    type: z.literal("system"),
    subtype: z.enum(noticeSubtypes),
    content: text.optional(),
    text: text.optional(),
    fallback_model: text.optional(),
  }),
  z.looseObject({ ...common, type: z.literal("system"), subtype: z.enum(quietSubtypes) }),
]);

const Event = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message_start"),
    message: z.looseObject({ id: text, usage: Usage.optional() }),
  }),
  z.looseObject({ type: z.literal("content_block_start"), index: z.number(), content_block: Loose }),
  z.looseObject({ type: z.literal("content_block_delta"), index: z.number().optional(), delta: Loose.optional() }),
  z.looseObject({ type: z.literal("content_block_stop"), index: z.number() }),
  z.looseObject({
    type: z.literal("message_delta"),
    delta: z.looseObject({ stop_reason: text.nullish() }),
    usage: Usage.optional(),
  }),
  z.looseObject({ type: z.enum(["message_stop", "ping", "error"]) }),
]);

const nestedOr = <Fields extends z.ZodRawShape>(name: "tool_use" | "tool_result", fields: Fields) =>
  z.union([
    z.looseObject({ ...common, type: z.literal(name), [name]: z.looseObject(fields) }),
    z.looseObject({ ...common, type: z.literal(name), [name]: z.null().optional(), ...fields }),
  ]);

export const ClaudeLineSchema = z.union([
  System,
  z.looseObject({
    ...common,
    ...scoped,
    type: z.literal("assistant"),
    message: z.looseObject({
      id: text.optional(),
      model: text.optional(),
      content: z.array(z.unknown()),
      stop_reason: text.nullish(),
      usage: Usage.nullish(),
    }),
    error: text.optional(),
    ...errors,
  }),
  z.looseObject({
    ...common,
    ...scoped,
    session_id: text.optional(),
    type: z.literal("user"),
    message: z.looseObject({ content: z.union([text, z.array(z.unknown())]) }),
    tool_result_meta: z.array(z.unknown()).optional(),
  }),
  z.looseObject({
    ...common,
    ...scoped,
    type: z.enum(["stream_event", "stream"]),
    api_message_id: text.optional(),
    event: Event,
  }),
  z.looseObject({
    ...common,
    ...errors,
    session_id: text.optional(),
    startup_failure_reason: text.optional(),
    type: z.literal("result"),
    subtype: text.optional(),
    is_error: z.boolean().optional(),
    result: text.optional(),
    error: text.optional(),
    errors: z.array(z.unknown()).optional(),
    stop_reason: text.nullish(),
    terminal_reason: text.optional(),
    total_cost_usd: z.number().optional(),
    usage: Usage.optional(),
    modelUsage: ModelUsage.optional(),
    model_usage_since_last_result: ModelUsage.optional(),
    user_message_uuids: z.array(text).optional(),
  }),
  nestedOr("tool_use", { id: text, name: text }),
  nestedOr("tool_result", { tool_use_id: text }),
  z.looseObject({ ...common, type: z.literal("command_lifecycle"), command_uuid: text, state: text }),
  z.looseObject({ ...common, type: z.literal("conversation_reset"), new_conversation_id: text }),
  z.looseObject({
    ...common,
    type: z.literal("control_request"),
    request_id: text,
    request: z.looseObject({ subtype: text }),
  }),
  z.looseObject({
    ...common,
    type: z.literal("control_response"),
    response: z.looseObject({ subtype: text, request_id: text, error: text.optional() }),
  }),
  z.looseObject({ ...common, type: z.literal("control_cancel_request"), request_id: text }),
  z.looseObject({ ...common, type: z.enum(quietTypes) }),
]);
