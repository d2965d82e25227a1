/**
 * The builtin agent's own lines, both directions. Small on purpose: one line for everything that happens in its loop,
 * with its meaning left to the adapter, exactly as for an agent that somebody else wrote.
 */

import type { BuiltinHears, BuiltinSays } from "./builtin-schema.ts";
import {
  byTag,
  type Check,
  fields,
  isAnything,
  isBoolean,
  isListOf,
  isNumber,
  isOneOf,
  isShape,
  isString,
  nullable,
  optional,
} from "./shape.ts";

export type {
  BuiltinError,
  BuiltinFile,
  BuiltinHears,
  BuiltinQuestion,
  BuiltinSays,
  BuiltinTodo,
  BuiltinTokens,
} from "./builtin-schema.ts";

export const kinds = ["command", "file_change", "web_search", "subagent", "note", "tool"] as const;

export const actions = ["read", "write", "patch"] as const;

export const changes = ["add", "update"] as const;

export const replies = ["once", "always", "reject"] as const;

export const todoStates = ["pending", "in_progress", "completed", "cancelled"] as const;

export const ends = [
  "completed",
  "aborted",
  "error",
  "rejected",
  "length",
  "content_filter",
  "refusal",
  "max_steps",
] as const;

export const modes = ["default", "plan", "acceptEdits", "bypass"] as const;

export type BuiltinLine = BuiltinSays | BuiltinHears;

type Fields = Readonly<Record<string, Check>>;

const optionalText = optional(isString);

const textList = isListOf(isString);

const tokens = fields({
  input: isNumber,
  output: isNumber,
  reasoning: isNumber,
  cache_read: isNumber,
  cache_write: isNumber,
});

const file = fields({
  path: isString,
  action: isOneOf(actions),
  diff: optionalText,
  change: optional(isOneOf(changes)),
});

const todo = fields({ id: isString, content: isString, status: isOneOf(todoStates), priority: optionalText });

const question = fields({
  id: isString,
  header: optionalText,
  question: isString,
  options: isListOf(fields({ label: isString, description: optionalText })),
  multiple: isBoolean,
  custom: isBoolean,
});

const failure = fields({ message: isString, code: nullable(isString) });

const attachment = fields({ path: isString, mime: optionalText, filename: optionalText });

const change: Fields = {
  model: optionalText,
  variant: optionalText,
  mode: optionalText,
  permission_mode: optional(isOneOf(modes)),
};

const said: Fields = { text: isString, attachments: isListOf(attachment) };

const block: Fields = { id: isString, message_id: isString, subagent: optionalText };

const piece: Fields = { id: isString, delta: isString };

const blockEnd: Fields = { id: isString, text: isString, failed: isBoolean };

const step: Fields = { step: isNumber, message_id: isString, subagent: optionalText };

const tool: Fields = {
  call_id: isString,
  tool: isString,
  kind: isOneOf(kinds),
  message_id: isString,
  subagent: optionalText,
};

const shapes: Readonly<Record<BuiltinLine["type"], Fields>> = {
  session: {
    agent: isOneOf(["builtin"]),
    session_id: isString,
    version: isString,
    model: nullable(isString),
    directory: isString,
    permission_mode: isOneOf(modes),
    tools: textList,
  },
  changed: change,
  "step.start": step,
  "step.finish": { ...step, finish: isString, tokens },
  "step.failed": { ...step, message: isString },
  "text.start": block,
  "text.delta": piece,
  "text.end": blockEnd,
  "reasoning.start": block,
  "reasoning.delta": piece,
  "reasoning.end": blockEnd,
  "tool.input": tool,
  "tool.call": { ...tool, input: isAnything, title: isString },
  "tool.output": { call_id: isString, delta: isString },
  "tool.result": {
    call_id: isString,
    output: isString,
    is_error: isBoolean,
    exit_code: optional(isNumber),
    files: isListOf(file),
  },
  "tool.error": { call_id: isString, message: isString, denied: isBoolean },
  "permission.asked": {
    id: isString,
    action: isString,
    tool: isString,
    call_id: isString,
    patterns: textList,
    always: isListOf(fields({ action: isString, pattern: isString })),
    metadata: isShape,
    subagent: optionalText,
  },
  "permission.answered": { id: isString, reply: isOneOf(replies) },
  "question.asked": { id: isString, call_id: isString, questions: isListOf(question), subagent: optionalText },
  "question.answered": { id: isString, answers: nullable(isListOf(textList)) },
  todo: { todos: isListOf(todo) },
  retry: { attempt: isNumber, message: isString, delay_ms: isNumber, subagent: optionalText },
  "compaction.start": { id: isString, why: isString },
  "compaction.end": { id: isString, summary: isString, kept: fields({ from: nullable(isString) }), tokens },
  "compaction.failed": { id: isString, message: isString },
  "subagent.start": { id: isString, call_id: isString, name: isString, title: isString },
  "subagent.end": { id: isString, failed: isBoolean },
  notice: { id: isString, label: isString, detail: isString, subagent: optionalText },
  end: { reason: isOneOf(ends), error: optional(failure) },
  prompt: said,
  steer: said,
  "permission.reply": { id: isString, reply: isOneOf(replies), message: optionalText },
  "question.reply": { id: isString, answers: isListOf(textList) },
  "question.reject": { id: isString, message: optionalText },
  abort: {},
  set: change,
  compact: {},
};

const line = byTag("type", Object.fromEntries(Object.entries(shapes).map(([type, checks]) => [type, fields(checks)])));

export const isBuiltinLine = (value: unknown): value is BuiltinLine => line(value);

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
