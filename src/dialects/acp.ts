/**
 * The Agent Client Protocol: JSON-RPC on stdio, version 1 and the draft of version 2. Agents agree in form and differ
 * in meaning, so the shapes here are loose: a tag, and the fields that we read.
 */
import * as z from "zod";

const text = z.string();
const maybe = text.nullish();
const anything = z.unknown().optional();
const meta = anything;

export const AcpContent = z.looseObject({ type: text, text: text.optional() });
export type AcpContent = z.infer<typeof AcpContent>;

export const AcpToolContent = z.looseObject({
  type: text,
  content: anything,
  path: text.optional(),
  oldText: maybe,
  newText: maybe,
  terminalId: text.optional(),
});
export type AcpToolContent = z.infer<typeof AcpToolContent>;

const toolFields = {
  toolCallId: text,
  title: maybe,
  name: maybe,
  kind: maybe,
  status: maybe,
  content: z.array(AcpToolContent).nullish(),
  locations: z.array(z.looseObject({ path: text })).nullish(),
  rawInput: anything,
  rawOutput: anything,
  _meta: meta,
};

/** A tool call, or what changed about it: an absent field says nothing. */
export const AcpTool = z.looseObject(toolFields);
export type AcpTool = z.infer<typeof AcpTool>;

const chunk = { content: AcpContent, messageId: maybe, _meta: meta };
const message = { content: z.array(AcpContent).nullish(), messageId: text };

export const AcpUpdate = z.discriminatedUnion("sessionUpdate", [
  z.looseObject({ sessionUpdate: z.literal("user_message_chunk"), ...chunk }),
  z.looseObject({ sessionUpdate: z.literal("agent_message_chunk"), ...chunk }),
  z.looseObject({ sessionUpdate: z.literal("agent_thought_chunk"), ...chunk }),
  z.looseObject({ sessionUpdate: z.literal("user_message"), ...message }),
  z.looseObject({ sessionUpdate: z.literal("agent_message"), ...message }),
  z.looseObject({ sessionUpdate: z.literal("agent_thought"), ...message }),
  z.looseObject({ sessionUpdate: z.literal("tool_call"), ...toolFields }),
  z.looseObject({ sessionUpdate: z.literal("tool_call_update"), ...toolFields }),
  z.looseObject({ sessionUpdate: z.literal("tool_call_content_chunk"), toolCallId: text, content: AcpToolContent }),
  z.looseObject({
    sessionUpdate: z.literal("plan"),
    entries: z.array(z.looseObject({ content: text, status: text, priority: maybe })),
  }),
  z.looseObject({ sessionUpdate: z.literal("plan_update") }),
  z.looseObject({ sessionUpdate: z.literal("plan_removed") }),
  z.looseObject({ sessionUpdate: z.literal("available_commands_update") }),
  z.looseObject({ sessionUpdate: z.literal("current_mode_update"), currentModeId: text }),
  z.looseObject({ sessionUpdate: z.literal("config_option_update"), configOptions: z.array(z.looseObject({})) }),
  z.looseObject({ sessionUpdate: z.literal("session_info_update"), title: maybe, _meta: meta }),
  z.looseObject({
    sessionUpdate: z.literal("usage_update"),
    cost: z.looseObject({ amount: z.number(), currency: text }).nullish(),
    _meta: meta,
  }),
  z.looseObject({ sessionUpdate: z.literal("notice"), severity: maybe, title: maybe, description: maybe }),
  z.looseObject({ sessionUpdate: z.literal("compaction_update"), compactionId: text, status: maybe, summary: maybe }),
  z.looseObject({ sessionUpdate: z.literal("compaction_summary_chunk"), compactionId: text }),
  z.looseObject({
    sessionUpdate: z.literal("subagent_update"),
    sessionId: text,
    title: maybe,
    description: maybe,
    state: z.looseObject({ state: text, stopReason: maybe }).nullish(),
  }),
  z.looseObject({ sessionUpdate: z.literal("session_message"), messageId: maybe, recipientSessionId: maybe }),
  z.looseObject({ sessionUpdate: z.literal("session_message_chunk") }),
  z.looseObject({
    sessionUpdate: z.literal("state_update"),
    state: text,
    stopReason: maybe,
    usage: anything,
    error: anything,
    _meta: meta,
  }),
  z.looseObject({
    sessionUpdate: z.literal("terminal_update"),
    terminalId: text,
    output: z.looseObject({ data: text }).nullish(),
    exitStatus: z.looseObject({ exitCode: z.number().nullish() }).nullish(),
  }),
  z.looseObject({ sessionUpdate: z.literal("terminal_output_chunk"), terminalId: text, data: text }),
]);
export type AcpUpdate = z.infer<typeof AcpUpdate>;
export type UpdateOf<T extends AcpUpdate["sessionUpdate"]> = Extract<AcpUpdate, { sessionUpdate: T }>;

const id = z.union([text, z.number()]);
const problem = z.looseObject({ code: z.number(), message: text, data: anything });

const Notification = z.looseObject({ id: id.optional(), method: text, params: anything });
const SessionUpdate = z.looseObject({
  id: id.optional(),
  method: z.literal("session/update"),
  params: z.looseObject({ sessionId: text, update: AcpUpdate }),
});
const Result = z
  .looseObject({ id, method: z.undefined().optional(), result: anything })
  .refine((line) => "result" in line);
const Failure = z
  .looseObject({ id: id.nullable(), method: z.undefined().optional(), error: problem })
  .refine((line) => !("result" in line));

/** One message. What a request or an answer must carry is checked where it is read. */
export const AcpLineSchema = z.union([
  SessionUpdate,
  Notification.refine(({ method }) => method !== "session/update"),
  Result,
  Failure,
]);

export interface AcpError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type AcpLine =
  | {
      readonly id?: string | number;
      readonly method: "session/update";
      readonly params: { readonly sessionId: string; readonly update: AcpUpdate };
    }
  | { readonly id?: string | number; readonly method: string; readonly params?: unknown }
  | { readonly id: string | number; readonly method?: undefined; readonly result: unknown }
  /** Id null: the line it answers could not be read. */
  | { readonly id: string | number | null; readonly method?: undefined; readonly error: AcpError };
