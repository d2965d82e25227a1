/**
 * The mock agent's own words: one JSON object a line, both directions. Small on purpose, but with everything that
 * real agents have: blocks, calls, requests, retries, subagents, background work, more than one way to end.
 */

import type { MockHears, MockSays } from "./mock-schema.ts";
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

export type { MockHears, MockSays } from "./mock-schema.ts";

export const blockKinds = ["text", "reasoning"] as const;

export const toolKinds = ["command", "file_change", "web_search", "subagent", "note", "tool"] as const;

export const fileActions = ["read", "write", "patch"] as const;

export const todoStates = ["pending", "in_progress", "completed", "cancelled"] as const;

export const subagentStates = ["started", "completed", "failed"] as const;

export const endReasons = ["completed", "aborted", "error"] as const;

export const replies = ["once", "always", "reject"] as const;

export type MockLine = MockSays | MockHears;

export type MockSaysOf<Type extends MockSays["type"]> = Extract<MockSays, { type: Type }>;

const id = isString;

const optionalText = optional(isString);

const isStrings = isListOf(isString);

const isOption = fields({ label: isString, description: optionalText });

const isQuestion = fields({
  id,
  header: isString,
  question: isString,
  options: isListOf(isOption),
  multiple: isBoolean,
});

const hasId = fields({ id });

const hasText = fields({ id, text: isString });

const hasSettings = fields({ model: optionalText, mode: optionalText, permission_mode: optionalText });

const checks: Readonly<Record<MockLine["type"], Check>> = {
  ready: fields({
    session: isString,
    version: isString,
    model: isString,
    directory: isString,
    permission_mode: isString,
    tools: isStrings,
  }),
  block: fields({ id, message: isString, kind: isOneOf(blockKinds), subagent: optionalText }),
  delta: hasText,
  "block.end": fields({ id, text: optionalText }),
  image: fields({ id, message: isString, mime: isString, data: isString }),
  call: fields({
    id,
    message: isString,
    tool: isString,
    kind: isOneOf(toolKinds),
    title: isString,
    input: isShape,
    subagent: optionalText,
  }),
  run: hasId,
  output: hasText,
  result: fields({
    id,
    output: isString,
    error: isBoolean,
    denied: optional(isBoolean),
    files: optional(isListOf(fields({ path: isString, action: isOneOf(fileActions), diff: optionalText }))),
  }),
  ask: fields({ id, action: isString, call: isString, tool: isString, input: isShape, patterns: isStrings }),
  question: fields({ id, questions: isListOf(isQuestion) }),
  answered: fields({ id, reply: isOneOf(replies) }),
  todos: fields({ todos: isListOf(fields({ id, content: isString, status: isOneOf(todoStates) })) }),
  usage: fields({
    finish: isString,
    tokens: fields({ input: isNumber, output: isNumber, reasoning: isNumber }),
    cost_usd: isNumber,
  }),
  error: fields({ message: isString, code: isString, fatal: isBoolean }),
  retry: fields({ attempt: isNumber, message: isString, delay_ms: isNumber }),
  compacting: isAnything,
  running: isAnything,
  summary: hasText,
  subagent: fields({ id, call: isString, name: isString, status: isOneOf(subagentStates) }),
  background: fields({ tasks: isListOf(fields({ id, title: isString, call: optionalText })) }),
  wake: isAnything,
  title: fields({ title: isString }),
  settings: hasSettings,
  end: fields({ reason: isOneOf(endReasons), error: optional(fields({ message: isString, code: isString })) }),
  heartbeat: isAnything,
  prompt: hasText,
  steer: hasText,
  answer: fields({ id, reply: isOneOf(replies), message: optionalText }),
  answers: fields({ id, answers: nullable(isListOf(isStrings)) }),
  set: hasSettings,
  compact: hasId,
  abort: isAnything,
};

const line = byTag("type", checks);

export const isMockLine = (value: unknown): value is MockLine => line(value);
