/** The lines of `builtin.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";
import { actions, changes, ends, kinds, modes, replies, todoStates } from "./builtin.ts";

const subagent = z.string().optional();

export const BuiltinTokens = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
});

export type BuiltinTokens = z.infer<typeof BuiltinTokens>;

export const BuiltinFile = z.looseObject({
  path: z.string(),
  action: z.enum(actions),
  diff: z.string().optional(),
  change: z.enum(changes).optional(),
});

export type BuiltinFile = z.infer<typeof BuiltinFile>;

export const BuiltinTodo = z.looseObject({
  id: z.string(),
  content: z.string(),
  status: z.enum(todoStates),
  priority: z.string().optional(),
});

export type BuiltinTodo = z.infer<typeof BuiltinTodo>;

export const BuiltinQuestion = z.looseObject({
  id: z.string(),
  header: z.string().optional(),
  question: z.string(),
  options: z.array(z.looseObject({ label: z.string(), description: z.string().optional() })).readonly(),
  multiple: z.boolean(),
  custom: z.boolean(),
});

export type BuiltinQuestion = z.infer<typeof BuiltinQuestion>;

export const BuiltinError = z.looseObject({
  message: z.string(),
  code: z.string().nullable(),
  details: z.unknown().optional(),
});

export type BuiltinError = z.infer<typeof BuiltinError>;

/** What the summary of a compaction replaces: everything before this entry, or everything there was. */
export const BuiltinKept = z.looseObject({ from: z.string().nullable() });

const changed = {
  model: z.string().optional(),
  variant: z.string().optional(),
  mode: z.string().optional(),
  permission_mode: z.enum(modes).optional(),
};

const prompt = {
  text: z.string(),
  attachments: z
    .array(z.looseObject({ path: z.string(), mime: z.string().optional(), filename: z.string().optional() }))
    .readonly(),
};

/** What the agent says. */
export const BuiltinSays = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("session"),
    agent: z.literal("builtin"),
    session_id: z.string(),
    version: z.string(),
    model: z.string().nullable(),
    directory: z.string(),
    permission_mode: z.enum(modes),
    tools: z.array(z.string()).readonly(),
  }),
  z.looseObject({ type: z.literal("changed"), ...changed }),
  z.looseObject({ type: z.literal("step.start"), step: z.number(), message_id: z.string(), subagent }),
  z.looseObject({
    type: z.literal("step.finish"),
    step: z.number(),
    message_id: z.string(),
    finish: z.string(),
    tokens: BuiltinTokens,
    subagent,
  }),
  /** The model's answer broke off: what it had said is not part of the conversation. */
  z.looseObject({
    type: z.literal("step.failed"),
    step: z.number(),
    message_id: z.string(),
    message: z.string(),
    subagent,
  }),
  z.looseObject({ type: z.literal("text.start"), id: z.string(), message_id: z.string(), subagent }),
  z.looseObject({ type: z.literal("text.delta"), id: z.string(), delta: z.string() }),
  z.looseObject({ type: z.literal("text.end"), id: z.string(), text: z.string(), failed: z.boolean() }),
  z.looseObject({ type: z.literal("reasoning.start"), id: z.string(), message_id: z.string(), subagent }),
  z.looseObject({ type: z.literal("reasoning.delta"), id: z.string(), delta: z.string() }),
  z.looseObject({ type: z.literal("reasoning.end"), id: z.string(), text: z.string(), failed: z.boolean() }),
  z.looseObject({
    type: z.literal("tool.input"),
    call_id: z.string(),
    tool: z.string(),
    kind: z.enum(kinds),
    message_id: z.string(),
    subagent,
  }),
  z.looseObject({
    type: z.literal("tool.call"),
    call_id: z.string(),
    tool: z.string(),
    kind: z.enum(kinds),
    message_id: z.string(),
    input: z.unknown(),
    title: z.string(),
    subagent,
  }),
  z.looseObject({ type: z.literal("tool.output"), call_id: z.string(), delta: z.string() }),
  z.looseObject({
    type: z.literal("tool.result"),
    call_id: z.string(),
    output: z.string(),
    is_error: z.boolean(),
    exit_code: z.number().optional(),
    files: z.array(BuiltinFile).readonly(),
  }),
  /** The tool did not run, or not to its end. `denied`: somebody or some rule said no. */
  z.looseObject({
    type: z.literal("tool.error"),
    call_id: z.string(),
    message: z.string(),
    denied: z.boolean(),
  }),
  z.looseObject({
    type: z.literal("permission.asked"),
    id: z.string(),
    action: z.string(),
    tool: z.string(),
    call_id: z.string(),
    input: z.unknown(),
    patterns: z.array(z.string()).readonly(),
    always: z.array(z.looseObject({ action: z.string(), pattern: z.string() })).readonly(),
    metadata: z.record(z.string(), z.unknown()),
    subagent,
  }),
  z.looseObject({ type: z.literal("permission.answered"), id: z.string(), reply: z.enum(replies) }),
  z.looseObject({
    type: z.literal("question.asked"),
    id: z.string(),
    call_id: z.string(),
    questions: z.array(BuiltinQuestion).readonly(),
    subagent,
  }),
  z.looseObject({
    type: z.literal("question.answered"),
    id: z.string(),
    answers: z.array(z.array(z.string()).readonly()).readonly().nullable(),
  }),
  z.looseObject({ type: z.literal("todo"), todos: z.array(BuiltinTodo).readonly() }),
  z.looseObject({
    type: z.literal("retry"),
    attempt: z.number(),
    message: z.string(),
    delay_ms: z.number(),
    subagent,
  }),
  z.looseObject({ type: z.literal("compaction.start"), id: z.string(), why: z.string() }),
  z.looseObject({
    type: z.literal("compaction.end"),
    id: z.string(),
    summary: z.string(),
    kept: BuiltinKept,
    tokens: BuiltinTokens,
  }),
  z.looseObject({ type: z.literal("compaction.failed"), id: z.string(), message: z.string() }),
  z.looseObject({
    type: z.literal("subagent.start"),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    title: z.string(),
  }),
  z.looseObject({ type: z.literal("subagent.end"), id: z.string(), failed: z.boolean() }),
  /** Something a reader should know: a denial nobody was asked about, a plugin that threw. */
  z.looseObject({ type: z.literal("notice"), id: z.string(), label: z.string(), detail: z.string(), subagent }),
  z.looseObject({ type: z.literal("end"), reason: z.enum(ends), error: BuiltinError.optional() }),
]);

export type BuiltinSays = z.infer<typeof BuiltinSays>;

/** What the agent hears. */
export const BuiltinHears = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("prompt"), ...prompt }),
  z.looseObject({ type: z.literal("steer"), ...prompt }),
  z.looseObject({
    type: z.literal("permission.reply"),
    id: z.string(),
    reply: z.enum(replies),
    message: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal("question.reply"),
    id: z.string(),
    answers: z.array(z.array(z.string()).readonly()).readonly(),
  }),
  z.looseObject({ type: z.literal("question.reject"), id: z.string(), message: z.string().optional() }),
  z.looseObject({ type: z.literal("abort") }),
  z.looseObject({ type: z.literal("set"), ...changed }),
  z.looseObject({ type: z.literal("compact") }),
]);

export type BuiltinHears = z.infer<typeof BuiltinHears>;

export const BuiltinLine = z.union([BuiltinSays, BuiltinHears]);
