/** Amp's `--stream-json` lines, as its CLI of May 2026 prints them: whole messages without ids, no deltas. */
import * as z from "zod";
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

const text = z.string();
const id = text.optional();
const count = z.number().optional();
const Texts = z.array(z.looseObject({ type: text, text: text.optional() }));

const Block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text }),
  z.looseObject({ type: z.literal("thinking"), thinking: text }),
  z.looseObject({ type: z.literal("redacted_thinking") }),
  z.looseObject({ type: z.literal("tool_use"), id: text, name: text, input: z.record(text, z.unknown()) }),
]);
export type AmpBlock = z.infer<typeof Block>;

const UserBlock = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text }),
  z.looseObject({ type: z.literal("image") }),
  z.looseObject({
    type: z.literal("tool_result"),
    tool_use_id: text,
    /** Mostly JSON in a string. */
    content: z.union([text, Texts]),
    is_error: z.boolean().optional(),
  }),
]);
export type AmpUserBlock = z.infer<typeof UserBlock>;

const Usage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
});
/** Documented for subagents; the builds that were recorded print nothing of theirs. */
const parent_tool_use_id = text.nullish();

export const AmpLine = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("system"),
    subtype: z.literal("init"),
    /** The thread: `T-…`. */
    session_id: text,
    cwd: text.optional(),
    tools: z.array(text).optional(),
    agent_mode: text.optional(),
  }),
  /** One whole message of the model: Amp has no smaller unit. */
  z.looseObject({
    type: z.literal("assistant"),
    session_id: text,
    parent_tool_use_id,
    message: z.looseObject({
      content: z.array(Block),
      /** `end_turn`, `tool_use`; null when the message was cut. */
      stop_reason: text.nullish(),
      usage: Usage.optional(),
    }),
  }),
  /** A prompt, echoed or written to its stdin, or the results of tools. */
  z.looseObject({
    type: z.literal("user"),
    session_id: text.optional(),
    parent_tool_use_id,
    message: z.looseObject({ content: z.array(UserBlock) }),
  }),
  /** Once per process. Subtypes seen: `success`, `error_during_execution`, `error_max_turns`. */
  z.looseObject({
    type: z.literal("result"),
    subtype: text,
    is_error: z.boolean(),
    session_id: text,
    result: text.optional(),
    error: text.optional(),
  }),
  // The words of the older protocol, as other projects document it: one line for each message, call, result and end.
  z.looseObject({ type: z.literal("message"), id, role: text.optional(), content: z.union([text, Texts]).optional() }),
  z.looseObject({
    type: z.literal("tool_call"),
    id,
    tool_call: z.looseObject({ id, name: text, arguments: z.unknown().optional() }).optional(),
    name: text.optional(),
    arguments: z.unknown().optional(),
  }),
  z.looseObject({
    type: z.literal("tool_result"),
    id,
    tool_call_id: text.optional(),
    tool_call: z.looseObject({ id }).optional(),
    content: z.union([text, Texts]).optional(),
    is_error: z.boolean().optional(),
  }),
  z.looseObject({ type: z.literal("error"), id, error: text.optional(), content: text.optional() }),
  z.looseObject({ type: z.literal("done"), id }),
]);
export type AmpLine = z.infer<typeof AmpLine>;
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
