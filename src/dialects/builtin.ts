/**
 * The builtin agent's own lines, both directions. Small on purpose: one line for everything that happens in its loop,
 * with its meaning left to the adapter, exactly as for an agent that somebody else wrote.
 */
import { z } from "zod";

const subagent = z.string().optional();

export const BuiltinTokens = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
});
export type BuiltinTokens = z.infer<typeof BuiltinTokens>;

const kinds = ["command", "file_change", "web_search", "subagent", "note", "tool"] as const;
const actions = ["read", "write", "patch"] as const;
const changes = ["add", "update"] as const;
const replies = ["once", "always", "reject"] as const;
const todoStates = ["pending", "in_progress", "completed", "cancelled"] as const;
const ends = ["completed", "aborted", "error", "rejected", "length", "content_filter", "refusal", "max_steps"] as const;
const modes = ["default", "plan", "acceptEdits", "bypass"] as const;

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
export type BuiltinLine = BuiltinSays | BuiltinHears;

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text: Check = (value) => typeof value === "string";
const count: Check = (value) => typeof value === "number";
const flag: Check = (value) => typeof value === "boolean";
const anything: Check = () => true;
const record: Check = isRecord;
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const oneOf =
  (words: readonly string[]): Check =>
  (value) =>
    typeof value === "string" && words.includes(value);
const shaped =
  (shape: Shape): Check =>
  (value) =>
    isRecord(value) && Object.entries(shape).every(([field, check]) => check(value[field]));

const tokens = shaped({ input: count, output: count, reasoning: count, cache_read: count, cache_write: count });
const file = shaped({ path: text, action: oneOf(actions), diff: maybe(text), change: maybe(oneOf(changes)) });
const todo = shaped({ id: text, content: text, status: oneOf(todoStates), priority: maybe(text) });
const question = shaped({
  id: text,
  header: maybe(text),
  question: text,
  options: listOf(shaped({ label: text, description: maybe(text) })),
  multiple: flag,
  custom: flag,
});
const failure = shaped({ message: text, code: orNull(text) });
const attachment = shaped({ path: text, mime: maybe(text), filename: maybe(text) });
const change: Shape = {
  model: maybe(text),
  variant: maybe(text),
  mode: maybe(text),
  permission_mode: maybe(oneOf(modes)),
};
const said: Shape = { text, attachments: listOf(attachment) };
const block: Shape = { id: text, message_id: text, subagent: maybe(text) };
const piece: Shape = { id: text, delta: text };
const blockEnd: Shape = { id: text, text, failed: flag };
const step: Shape = { step: count, message_id: text, subagent: maybe(text) };
const tool: Shape = { call_id: text, tool: text, kind: oneOf(kinds), message_id: text, subagent: maybe(text) };

const shapes: Readonly<Record<BuiltinLine["type"], Shape>> = {
  session: {
    agent: oneOf(["builtin"]),
    session_id: text,
    version: text,
    model: orNull(text),
    directory: text,
    permission_mode: oneOf(modes),
    tools: listOf(text),
  },
  changed: change,
  "step.start": step,
  "step.finish": { ...step, finish: text, tokens },
  "step.failed": { ...step, message: text },
  "text.start": block,
  "text.delta": piece,
  "text.end": blockEnd,
  "reasoning.start": block,
  "reasoning.delta": piece,
  "reasoning.end": blockEnd,
  "tool.input": tool,
  "tool.call": { ...tool, input: anything, title: text },
  "tool.output": { call_id: text, delta: text },
  "tool.result": { call_id: text, output: text, is_error: flag, exit_code: maybe(count), files: listOf(file) },
  "tool.error": { call_id: text, message: text, denied: flag },
  "permission.asked": {
    id: text,
    action: text,
    tool: text,
    call_id: text,
    patterns: listOf(text),
    always: listOf(shaped({ action: text, pattern: text })),
    metadata: record,
    subagent: maybe(text),
  },
  "permission.answered": { id: text, reply: oneOf(replies) },
  "question.asked": { id: text, call_id: text, questions: listOf(question), subagent: maybe(text) },
  "question.answered": { id: text, answers: orNull(listOf(listOf(text))) },
  todo: { todos: listOf(todo) },
  retry: { attempt: count, message: text, delay_ms: count, subagent: maybe(text) },
  "compaction.start": { id: text, why: text },
  "compaction.end": { id: text, summary: text, kept: shaped({ from: orNull(text) }), tokens },
  "compaction.failed": { id: text, message: text },
  "subagent.start": { id: text, call_id: text, name: text, title: text },
  "subagent.end": { id: text, failed: flag },
  notice: { id: text, label: text, detail: text, subagent: maybe(text) },
  end: { reason: oneOf(ends), error: maybe(failure) },
  prompt: said,
  steer: said,
  "permission.reply": { id: text, reply: oneOf(replies), message: maybe(text) },
  "question.reply": { id: text, answers: listOf(listOf(text)) },
  "question.reject": { id: text, message: maybe(text) },
  abort: {},
  set: change,
  compact: {},
};

const known = new Map<string, Shape>(Object.entries(shapes));

export function isBuiltinLine(value: unknown): value is BuiltinLine {
  if (!isRecord(value) || typeof value.type !== "string") return false;
  const shape = known.get(value.type);
  return shape !== undefined && shaped(shape)(value);
}

const heard: ReadonlySet<string> = new Set([
  "prompt",
  "steer",
  "permission.reply",
  "question.reply",
  "question.reject",
  "abort",
  "set",
  "compact",
]);

export const isBuiltinHeard = (line: BuiltinLine): line is BuiltinHears => heard.has(line.type);
