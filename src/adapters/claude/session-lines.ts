/** Records of a session file in the form of the live stream: nearly the same, with other names around the message. */
import { defined } from "../../core/defined.ts";
import type { Recorded } from "../../core/recorded.ts";
import { type ClaudeFileRecord, messageOf } from "../../dialects/claude-file.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";

const MAIN: Shape = { parent_tool_use_id: null };

export const agentLine = (line: Shape, at: number | null): Recorded => ({ type: "line", from: "agent", line, at });
export const hostLine = (line: Shape, at: number | null): Recorded => ({ type: "line", from: "host", line, at });

interface AssistantPlace {
  readonly record: ClaudeFileRecord;
  readonly index: number;
  readonly scope?: Shape;
  /** An interrupt cut the message. */
  readonly aborted?: boolean;
}

/**
 * Every block of a message repeats its usage and its stop reason (up to 2.0.77 all but the last have stand-ins): both
 * are kept on the last block only, where the call ended.
 */
export function assistantLines(
  records: readonly ClaudeFileRecord[],
  { record, index, scope = MAIN, aborted = false }: AssistantPlace,
): Recorded[] {
  const { native } = record;
  const { id, stopReason } = messageOf(record);
  const later = records.slice(index + 1, index + 1 + LOOK_AHEAD);
  const isLast = id === null || !later.some((other) => other.type === "assistant" && messageOf(other).id === id);
  const message = { ...shapeOf(native.message), stop_reason: isLast ? stopReason : null };
  const line = defined({
    type: "assistant",
    ...scope,
    uuid: record.uuid,
    session_id: native.sessionId,
    message,
    error: isString(native.error) ? native.error : undefined,
    is_api_error_message: native.isApiErrorMessage === true ? true : undefined,
    api_error_status: isNumber(native.apiErrorStatus) ? native.apiErrorStatus : undefined,
    api_error_type: isString(native.apiErrorType) ? native.apiErrorType : undefined,
    aborted: aborted || native.isAbortedMidStream === true ? true : undefined,
  });
  return [agentLine(line, record.at)];
}

/** Blocks of one message stand together, with a few other records between them at most. */
const LOOK_AHEAD = 64;

export function userLine(record: ClaudeFileRecord, scope: Shape = MAIN): Recorded {
  const { native } = record;
  const line = defined({
    type: "user",
    ...scope,
    uuid: record.uuid,
    session_id: native.sessionId,
    message: native.message,
    tool_use_result: native.toolUseResult,
    tool_result_meta: isString(native.toolDenialKind) ? metaOf(record, native.toolDenialKind) : undefined,
    isSynthetic: native.isCompactSummary === true ? true : undefined,
  });
  return agentLine(line, record.at);
}

function metaOf(record: ClaudeFileRecord, kind: string): readonly Shape[] {
  const { content } = messageOf(record);
  if (isString(content)) return [];
  return content
    .map(shapeOf)
    .flatMap(({ tool_use_id: id }) => (isString(id) ? [{ id, non_execution_kind: kind }] : []));
}

export function boundaryLine({ native, uuid, at }: ClaudeFileRecord): Recorded {
  const { trigger, preTokens, postTokens } = shapeOf(native.compactMetadata);
  const compact_metadata = defined({
    trigger: isString(trigger) ? trigger : undefined,
    pre_tokens: isNumber(preTokens) ? preTokens : undefined,
    post_tokens: isNumber(postTokens) ? postTokens : undefined,
  });
  return agentLine({ type: "system", subtype: "compact_boundary", uuid, compact_metadata }, at);
}
