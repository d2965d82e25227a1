/** The hand-written guards of the Agent Client Protocol, in agreement with the schemas of `acp.ts`. */
import type { AcpLine, AcpTool, AcpUpdate } from "./acp.ts";
import {
  anyOf,
  byTag,
  type Check,
  fields,
  isAnything,
  isListOf,
  isNumber,
  isShape,
  isString,
  nullable,
  nullish,
  optional,
} from "./shape.ts";

const maybe = nullish(isString);
const isContent = fields({ type: isString, text: optional(isString) });
const isToolContent = fields({
  type: isString,
  path: optional(isString),
  oldText: maybe,
  newText: maybe,
  terminalId: optional(isString),
});
const isTool = fields({
  toolCallId: isString,
  title: maybe,
  name: maybe,
  kind: maybe,
  status: maybe,
  content: nullish(isListOf(isToolContent)),
  locations: nullish(isListOf(fields({ path: isString }))),
});
const isChunk = fields({ content: isContent, messageId: maybe });
const isMessage = fields({ content: nullish(isListOf(isContent)), messageId: isString });

const updates: Readonly<Record<AcpUpdate["sessionUpdate"], Check>> = {
  user_message_chunk: isChunk,
  agent_message_chunk: isChunk,
  agent_thought_chunk: isChunk,
  user_message: isMessage,
  agent_message: isMessage,
  agent_thought: isMessage,
  tool_call: isTool,
  tool_call_update: isTool,
  tool_call_content_chunk: fields({ toolCallId: isString, content: isToolContent }),
  plan: fields({ entries: isListOf(fields({ content: isString, status: isString, priority: maybe })) }),
  plan_update: isAnything,
  plan_removed: isAnything,
  available_commands_update: isAnything,
  current_mode_update: fields({ currentModeId: isString }),
  config_option_update: fields({ configOptions: isListOf(isShape) }),
  session_info_update: fields({ title: maybe }),
  usage_update: fields({ cost: nullish(fields({ amount: isNumber, currency: isString })) }),
  notice: fields({ severity: maybe, title: maybe, description: maybe }),
  compaction_update: fields({ compactionId: isString, status: maybe, summary: maybe }),
  compaction_summary_chunk: fields({ compactionId: isString }),
  subagent_update: fields({
    sessionId: isString,
    title: maybe,
    description: maybe,
    state: nullish(fields({ state: isString, stopReason: maybe })),
  }),
  session_message: fields({ messageId: maybe, recipientSessionId: maybe }),
  session_message_chunk: isAnything,
  state_update: fields({ state: isString, stopReason: maybe }),
  terminal_update: fields({
    terminalId: isString,
    output: nullish(fields({ data: isString })),
    exitStatus: nullish(fields({ exitCode: nullish(isNumber) })),
  }),
  terminal_output_chunk: fields({ terminalId: isString, data: isString }),
};
const update = byTag("sessionUpdate", updates);

const isSessionUpdate = fields({ sessionId: isString, update });
const isId = anyOf(isString, isNumber);
const isError = fields({ code: isNumber, message: isString });

export function isAcpLine(value: unknown): value is AcpLine {
  if (!isShape(value)) return false;
  if (value.method !== undefined) {
    if (!isString(value.method) || !optional(isId)(value.id)) return false;
    return value.method !== "session/update" || isSessionUpdate(value.params);
  }
  if ("result" in value) return isId(value.id);
  return nullable(isId)(value.id) && isError(value.error);
}

export const isAcpTool = (value: unknown): value is AcpTool => isTool(value);
