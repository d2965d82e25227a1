/**
 * Amp's `--stream-json` lines, as its CLI of May 2026 prints them. Lines it may have learned since are kept as they
 * are.
 */
import { z } from "zod";
import { isListOf, isNumber, isShape, isString, maybe } from "./shape.ts";

export interface AmpInit {
  readonly type: "system";
  readonly subtype: "init";
  /** The thread: `T-…`. */
  readonly session_id: string;
  readonly cwd?: string;
  readonly tools?: readonly string[];
  readonly agent_mode?: string;
}

export type AmpBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string }
  | { readonly type: "redacted_thinking" }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    };

export interface AmpUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
}

/** One whole message of the model: Amp has no smaller unit, and gives no ids. */
export interface AmpAssistant {
  readonly type: "assistant";
  readonly session_id: string;
  /** Documented for subagents; the builds that were recorded print nothing of theirs. */
  readonly parent_tool_use_id?: string | null;
  readonly message: {
    readonly content: readonly AmpBlock[];
    /** `end_turn`, `tool_use`; null when the message was cut. */
    readonly stop_reason?: string | null;
    readonly usage?: AmpUsage;
  };
}

export type AmpUserBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" }
  | {
      readonly type: "tool_result";
      readonly tool_use_id: string;
      /** Mostly JSON in a string. */
      readonly content: string | readonly { readonly type: string; readonly text?: string }[];
      readonly is_error?: boolean;
    };

/** A prompt, echoed or written to its stdin, or the results of tools. */
export interface AmpUser {
  readonly type: "user";
  readonly session_id?: string;
  readonly parent_tool_use_id?: string | null;
  readonly message: { readonly content: readonly AmpUserBlock[] };
}

/** Once per process. */
export interface AmpResult {
  readonly type: "result";
  /** `success`, `error_during_execution`, `error_max_turns`. */
  readonly subtype: string;
  readonly is_error: boolean;
  readonly session_id: string;
  readonly result?: string;
  readonly error?: string;
  readonly num_turns?: number;
}

/** Something newer than the recordings. */
export interface AmpUnknown {
  readonly type: string;
  readonly session_id?: string;
}

export type AmpLine = AmpInit | AmpAssistant | AmpUser | AmpResult | AmpUnknown;

const known: ReadonlySet<unknown> = new Set(["assistant", "user", "result"]);

export const isAmpInit = (line: AmpLine): line is AmpInit =>
  line.type === "system" && "subtype" in line && line.subtype === "init";
export const isAmpAssistant = (line: AmpLine): line is AmpAssistant => line.type === "assistant";
export const isAmpUser = (line: AmpLine): line is AmpUser => line.type === "user";
export const isAmpResult = (line: AmpLine): line is AmpResult => line.type === "result";

export function isAmpLine(value: unknown): value is AmpLine {
  if (!isShape(value) || !isString(value.type) || !maybe(value.session_id, isString)) return false;
  switch (value.type) {
    case "system":
      return value.subtype === "init" ? isInit(value) : maybe(value.subtype, isString);
    case "assistant":
      return isString(value.session_id) && isParent(value.parent_tool_use_id) && isAssistantMessage(value.message);
    case "user":
      return isParent(value.parent_tool_use_id) && isUserMessage(value.message);
    case "result":
      return (
        isString(value.session_id) &&
        isString(value.subtype) &&
        typeof value.is_error === "boolean" &&
        maybe(value.result, isString) &&
        maybe(value.error, isString)
      );
    default:
      return !known.has(value.type);
  }
}

type Fields = Readonly<Record<string, unknown>>;

const isParent = (value: unknown): boolean => value === undefined || value === null || isString(value);

const isInit = ({ session_id, cwd, tools, agent_mode }: Fields): boolean =>
  isString(session_id) && maybe(cwd, isString) && maybe(tools, isListOf(isString)) && maybe(agent_mode, isString);

function isAssistantMessage(message: unknown): boolean {
  if (!isShape(message) || !Array.isArray(message.content) || !message.content.every(isBlock)) return false;
  const { stop_reason, usage } = message;
  return (stop_reason === null || maybe(stop_reason, isString)) && maybe(usage, isUsage);
}

function isUsage(usage: unknown): boolean {
  if (!isShape(usage)) return false;
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  return [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens].every((count) =>
    maybe(count, isNumber),
  );
}

function isBlock(block: unknown): boolean {
  if (!isShape(block)) return false;
  switch (block.type) {
    case "text":
      return isString(block.text);
    case "thinking":
      return isString(block.thinking);
    case "redacted_thinking":
      return true;
    case "tool_use":
      return isString(block.id) && isString(block.name) && isShape(block.input);
    default:
      return false;
  }
}

const isUserMessage = (message: unknown): boolean =>
  isShape(message) && Array.isArray(message.content) && message.content.every(isUserBlock);

function isUserBlock(block: unknown): boolean {
  if (!isShape(block)) return false;
  if (block.type === "text") return isString(block.text);
  if (block.type === "image") return true;
  if (block.type !== "tool_result" || !isString(block.tool_use_id)) return false;
  const { content, is_error } = block;
  return (isString(content) || isTexts(content)) && maybe(is_error, (value) => typeof value === "boolean");
}

const isTexts = (content: unknown): boolean =>
  Array.isArray(content) && content.every((one) => isShape(one) && isString(one.type) && maybe(one.text, isString));

const count = z.number().optional();
const parent = z.string().nullable().optional();

/** The zod twin of the guard: it runs in tests over every recording. */
export const AmpLineSchema = z.union([
  z.object({
    type: z.literal("system"),
    subtype: z.literal("init"),
    session_id: z.string(),
    cwd: z.string().optional(),
    tools: z.array(z.string()).optional(),
    agent_mode: z.string().optional(),
  }),
  z.object({
    type: z.literal("assistant"),
    session_id: z.string(),
    parent_tool_use_id: parent,
    message: z.object({
      content: z.array(
        z.discriminatedUnion("type", [
          z.object({ type: z.literal("text"), text: z.string() }),
          z.object({ type: z.literal("thinking"), thinking: z.string() }),
          z.object({ type: z.literal("redacted_thinking") }),
          z.object({
            type: z.literal("tool_use"),
            id: z.string(),
            name: z.string(),
            input: z.record(z.string(), z.unknown()),
          }),
        ]),
      ),
      stop_reason: z.string().nullable().optional(),
      usage: z
        .object({
          input_tokens: count,
          output_tokens: count,
          cache_creation_input_tokens: count,
          cache_read_input_tokens: count,
        })
        .optional(),
    }),
  }),
  z.object({
    type: z.literal("user"),
    session_id: z.string().optional(),
    parent_tool_use_id: parent,
    message: z.object({
      content: z.array(
        z.discriminatedUnion("type", [
          z.object({ type: z.literal("text"), text: z.string() }),
          z.object({ type: z.literal("image") }),
          z.object({
            type: z.literal("tool_result"),
            tool_use_id: z.string(),
            content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() }))]),
            is_error: z.boolean().optional(),
          }),
        ]),
      ),
    }),
  }),
  z.object({
    type: z.literal("result"),
    subtype: z.string(),
    is_error: z.boolean(),
    session_id: z.string(),
    result: z.string().optional(),
    error: z.string().optional(),
  }),
  z.object({
    type: z.literal("system"),
    session_id: z.string().optional(),
    subtype: z
      .string()
      .refine((name) => name !== "init")
      .optional(),
  }),
  z.object({
    type: z.string().refine((type) => !known.has(type) && type !== "system"),
    session_id: z.string().optional(),
  }),
]);
