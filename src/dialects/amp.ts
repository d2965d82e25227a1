/** Amp's `--stream-json` lines, as its CLI of May 2026 prints them: whole messages without ids, no deltas. */

import type { AmpLine } from "./amp-schema.ts";
import {
  anyOf,
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
  nullish,
  optional,
} from "./shape.ts";

export type { AmpBlock, AmpLine, AmpUserBlock } from "./amp-schema.ts";

export type AmpLineOf<Type extends AmpLine["type"]> = Extract<AmpLine, { type: Type }>;

const optionalText = optional(isString);

const isWords = anyOf(isString, isListOf(fields({ type: isString, text: optionalText })));

const ofLine = { id: optionalText };

const isBlock = byTag("type", {
  text: fields({ text: isString }),
  thinking: fields({ thinking: isString }),
  redacted_thinking: isAnything,
  tool_use: fields({ id: isString, name: isString, input: isShape }),
});

const isUserBlock = byTag("type", {
  text: fields({ text: isString }),
  image: isAnything,
  tool_result: fields({
    tool_use_id: isString,
    content: isWords,
    is_error: optional(isBoolean),
  }),
});

const isUsage = fields({
  input_tokens: optional(isNumber),
  output_tokens: optional(isNumber),
  cache_creation_input_tokens: optional(isNumber),
  cache_read_input_tokens: optional(isNumber),
});

const checks: Readonly<Record<AmpLine["type"], Check>> = {
  system: fields({
    subtype: isOneOf(["init"]),
    session_id: isString,
    cwd: optionalText,
    tools: optional(isListOf(isString)),
    agent_mode: optionalText,
  }),
  assistant: fields({
    session_id: isString,
    parent_tool_use_id: nullish(isString),
    message: fields({ content: isListOf(isBlock), stop_reason: nullish(isString), usage: optional(isUsage) }),
  }),
  user: fields({
    session_id: optionalText,
    parent_tool_use_id: nullish(isString),
    message: fields({ content: isListOf(isUserBlock) }),
  }),
  result: fields({
    subtype: isString,
    is_error: isBoolean,
    session_id: isString,
    result: optionalText,
    error: optionalText,
  }),
  message: fields({ ...ofLine, role: optionalText, content: optional(isWords) }),
  tool_call: fields({
    ...ofLine,
    name: optionalText,
    tool_call: optional(fields({ id: optionalText, name: isString })),
  }),
  tool_result: fields({
    ...ofLine,
    tool_call_id: optionalText,
    tool_call: optional(fields({ id: optionalText })),
    content: optional(isWords),
    is_error: optional(isBoolean),
  }),
  error: fields({ ...ofLine, error: optionalText, content: optionalText }),
  done: fields(ofLine),
};

const line = byTag("type", checks);

export const isAmpLine = (value: unknown): value is AmpLine => line(value);
