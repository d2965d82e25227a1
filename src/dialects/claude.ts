/**
 * Claude Code's lines on stdout and stdin (`stream-json`), as versions 2.1.197 to 2.1.325 write them.
 * Required are the fields we read and that every version has; the guard checks exactly those.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ClaudeUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly output_tokens_details?: { readonly thinking_tokens?: number } | null;
}

export interface ClaudeModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadInputTokens?: number;
  readonly cacheCreationInputTokens?: number;
  readonly thinkingTokens?: number;
  readonly costUSD?: number;
}

export type ClaudeBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string }
  | {
      readonly type: "tool_use" | "server_tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: unknown;
    }
  | ClaudeToolResult
  | {
      readonly type: "image";
      readonly source: { readonly data: string | undefined; readonly media_type: string | undefined };
    }
  | { readonly type: "other"; readonly native: JsonObject };

export interface ClaudeToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string | readonly unknown[] | undefined;
  readonly is_error: boolean;
}

interface Common {
  readonly uuid?: string;
  readonly session_id?: string;
}

/** Said inside a subagent when set: the Agent call it belongs to. */
interface Scoped extends Common {
  readonly parent_tool_use_id?: string | null;
  readonly agent_id?: string;
  readonly subagent_type?: string;
  readonly task_description?: string;
}

export interface ClaudeAssistant extends Scoped {
  readonly type: "assistant";
  readonly message: {
    readonly id?: string;
    readonly model?: string;
    readonly content: readonly unknown[];
    readonly stop_reason?: string | null;
    readonly usage?: ClaudeUsage | null;
  };
  readonly error?: string;
  readonly is_api_error_message?: boolean;
  readonly api_error_status?: number | null;
  readonly api_error_type?: string;
  readonly api_error?: string;
  /** The text so far of a message that an interrupt cut. */
  readonly aborted?: boolean;
}

export interface ClaudeUser extends Scoped {
  readonly type: "user";
  readonly message: { readonly content: string | readonly unknown[] };
  readonly isReplay?: boolean;
  readonly isSynthetic?: boolean;
  readonly isMeta?: boolean;
  readonly tool_use_result?: unknown;
  readonly tool_result_meta?: readonly unknown[];
}

export type ClaudeStreamEvent =
  | { readonly type: "message_start"; readonly message: { readonly id: string; readonly usage?: ClaudeUsage } }
  | { readonly type: "content_block_start"; readonly index: number; readonly content_block: JsonObject }
  | { readonly type: "content_block_delta"; readonly index?: number; readonly delta?: JsonObject }
  | { readonly type: "content_block_stop"; readonly index: number }
  | {
      readonly type: "message_delta";
      readonly delta: { readonly stop_reason?: string | null };
      readonly usage?: ClaudeUsage;
    }
  | { readonly type: "message_stop" | "ping" | "error" };

export interface ClaudeStream extends Scoped {
  /** `stream` is the older spelling. */
  readonly type: "stream_event" | "stream";
  readonly event: ClaudeStreamEvent;
  readonly api_message_id?: string;
}

/** A result as it is printed: documents leave out what says that all went well. */
export type ClaudeResultLine = Omit<ClaudeResult, "subtype" | "is_error"> & {
  readonly subtype?: string;
  readonly is_error?: boolean;
};

export interface ClaudeResult extends Common {
  readonly type: "result";
  readonly subtype: string;
  readonly is_error: boolean;
  readonly result?: string;
  readonly error?: string;
  readonly errors?: readonly unknown[];
  readonly stop_reason?: string | null;
  readonly terminal_reason?: string;
  readonly api_error_status?: number | null;
  readonly api_error_type?: string;
  readonly api_error?: string;
  readonly startup_failure_reason?: string;
  readonly total_cost_usd?: number;
  readonly usage?: ClaudeUsage;
  readonly modelUsage?: Readonly<Record<string, ClaudeModelUsage>>;
  readonly model_usage_since_last_result?: Readonly<Record<string, ClaudeModelUsage>>;
  readonly origin?: { readonly kind?: string };
  readonly user_message_uuids?: readonly string[];
}

/** Older shapes that repeat what an assistant or user event says. */
export interface ClaudeToolUseLine extends Scoped {
  readonly type: "tool_use";
  readonly tool_use?: JsonObject;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
}

export interface ClaudeToolResultLine extends Scoped {
  readonly type: "tool_result";
  readonly tool_result?: JsonObject;
  readonly tool_use_id?: string;
  readonly content?: unknown;
  readonly is_error?: boolean;
}

export interface ClaudeTask {
  readonly task_id: string;
  readonly task_type?: string;
  readonly description?: string;
  readonly subagent_type?: string;
}

interface System<Subtype extends string> extends Common {
  readonly type: "system";
  readonly subtype: Subtype;
}

export interface ClaudeInit extends System<"init"> {
  readonly session_id: string;
  readonly model: string;
  readonly cwd?: string;
  readonly tools?: readonly string[];
  readonly slash_commands?: readonly string[];
  readonly permissionMode?: string;
  readonly claude_code_version?: string;
  readonly user_message_uuids?: readonly string[];
}

export interface ClaudeStatus extends System<"status"> {
  readonly status: string | null;
  readonly permissionMode?: string;
}

export interface ClaudeRetry extends System<"api_retry"> {
  readonly attempt: number;
  readonly retry_delay_ms: number;
  readonly error_status?: number | null;
  readonly error?: string;
}

export interface ClaudeDenied extends System<"permission_denied"> {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly message: string;
}

export interface ClaudeBoundary extends System<"compact_boundary"> {
  readonly compact_metadata?: {
    readonly trigger?: string;
    readonly pre_tokens?: number;
    readonly post_tokens?: number;
  };
}

export interface ClaudeTaskStarted extends System<"task_started">, ClaudeTask {
  readonly tool_use_id?: string;
  readonly is_backgrounded?: boolean;
}

export interface ClaudeTaskUpdated extends System<"task_updated"> {
  readonly task_id: string;
  readonly patch: JsonObject;
}

export interface ClaudeTaskNotification extends System<"task_notification"> {
  readonly task_id: string;
  readonly tool_use_id?: string;
  readonly status: string;
  readonly summary?: string;
}

export interface ClaudeBackgroundTasks extends System<"background_tasks_changed"> {
  readonly tasks: readonly ClaudeTask[];
}

export interface ClaudeHookStarted extends System<"hook_started"> {
  readonly hook_id: string;
  readonly hook_name: string;
}

export interface ClaudeHookResponse extends System<"hook_response"> {
  readonly hook_id: string;
  readonly hook_name: string;
  readonly output?: string;
  readonly outcome?: string;
}

export interface ClaudeTitle extends System<"session_title_changed"> {
  readonly title: string;
}

/** Something a person may want to read; it decides nothing. */
export interface ClaudeNotice extends System<(typeof noticeSubtypes)[number]> {
  readonly content?: string;
  readonly text?: string;
  readonly fallback_model?: string;
}

export interface ClaudeQuietSystem extends System<(typeof quietSubtypes)[number]> {}

export type ClaudeSystem =
  | ClaudeInit
  | ClaudeStatus
  | ClaudeRetry
  | ClaudeDenied
  | ClaudeBoundary
  | ClaudeTaskStarted
  | ClaudeTaskUpdated
  | ClaudeTaskNotification
  | ClaudeBackgroundTasks
  | ClaudeHookStarted
  | ClaudeHookResponse
  | ClaudeTitle
  | ClaudeNotice
  | ClaudeQuietSystem;

export interface ClaudeLifecycle extends Common {
  readonly type: "command_lifecycle";
  readonly command_uuid: string;
  readonly state: string;
}

export interface ClaudeReset extends Common {
  readonly type: "conversation_reset";
  readonly new_conversation_id: string;
}

/** Both directions: the CLI asks `can_use_tool`, we ask `interrupt`, `set_model` and the like. */
export interface ClaudeControlRequest {
  readonly type: "control_request";
  readonly request_id: string;
  readonly request: { readonly subtype: string; readonly [field: string]: unknown };
}

export interface ClaudeControlResponse {
  readonly type: "control_response";
  readonly response: {
    readonly subtype: string;
    readonly request_id: string;
    readonly response?: unknown;
    readonly error?: string;
  };
}

export interface ClaudeControlCancel {
  readonly type: "control_cancel_request";
  readonly request_id: string;
}

export interface ClaudeQuiet extends Common {
  readonly type: (typeof quietTypes)[number];
}

export type ClaudeLine =
  | ClaudeSystem
  | ClaudeAssistant
  | ClaudeUser
  | ClaudeStream
  | ClaudeResultLine
  | ClaudeToolUseLine
  | ClaudeToolResultLine
  | ClaudeLifecycle
  | ClaudeReset
  | ClaudeControlRequest
  | ClaudeControlResponse
  | ClaudeControlCancel
  | ClaudeQuiet;

/** Lines that are ignored, or nothing about the conversation. `docs/agents/claude.md` says why for each. */
export const quietTypes = [
  "keep_alive",
  "tool_progress",
  "tool_use_summary",
  "rate_limit_event",
  "auth_status",
  "prompt_suggestion",
  "transcript_mirror",
] as const;

export const quietSubtypes = [
  "session_state_changed",
  "thinking_tokens",
  "task_progress",
  "task_summary",
  "hook_progress",
  "commands_changed",
  "post_turn_summary",
  "turn_duration",
  "turn_starting",
  "files_persisted",
  "mirror_error",
  "elicitation_complete",
  "ui_invalidate",
  "ui_status",
  "ui_log",
  "control_request_progress",
  "vcs_state_changed",
  "file_snapshot",
  "session_metadata",
  "memory_recall",
  "permission_check_status",
  "per_turn_effort_changed",
] as const;

export const noticeSubtypes = [
  "informational",
  "notification",
  "local_command",
  "local_command_output",
  "model_fallback",
  "model_refusal_fallback",
  "model_refusal_no_fallback",
  "model_consent_fallback",
  "instruction_size_warning",
  "scheduled_task_fire",
  "permission_retry",
  "stop_hook_summary",
  "turn_preempted",
  "plugin_install",
  "memory_saved",
  "session_writes_lost",
  "worker_shutting_down",
] as const;
