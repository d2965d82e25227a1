/** The lines of `amp.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";

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
