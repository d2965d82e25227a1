/**
 * The lines of `opencode run --format json`: whole parts of the server's messages, and no end of their own. Read
 * leniently: ids, counts and texts may be missing, as in the lines that other projects document.
 */
import type { OpenCodeError } from "./opencode.ts";
import { isOpenCodeError } from "./opencode-stream.ts";
import { byTag, type Check, fields, isNumber, isOneOf, isShape, isString, optional, type Shape } from "./shape.ts";

/** Ids that a part may have. */
interface RunPart {
  readonly id?: string;
  readonly messageID?: string;
}

export interface OpenCodeRunWords extends RunPart {
  readonly text: string;
  readonly time?: Shape;
}

export interface OpenCodeRunTool extends RunPart {
  readonly callID?: string;
  readonly tool: string;
  readonly state: {
    readonly status: "pending" | "running" | "completed" | "error";
    readonly input?: Shape;
    readonly output?: string;
    readonly error?: string;
    readonly title?: string;
    readonly metadata?: Shape;
  };
}

export interface OpenCodeRunFinish extends RunPart {
  /** Absent in some versions: then only the exit of the process ends the turn. */
  readonly reason?: string;
  readonly cost?: number;
  readonly tokens?: {
    readonly input?: number;
    readonly output?: number;
    readonly reasoning?: number;
    readonly cache?: { readonly read?: number; readonly write?: number };
  };
}

interface RunLine<Type extends string> {
  readonly type: Type;
  /** Epoch milliseconds. */
  readonly timestamp?: number;
  readonly sessionID?: string;
}

export type OpenCodeRunLine =
  | (RunLine<"step_start"> & { readonly part?: RunPart })
  | (RunLine<"step_finish"> & { readonly part?: OpenCodeRunFinish })
  /** `reasoning` only with `--thinking`. */
  | (RunLine<"text" | "reasoning"> & { readonly part: OpenCodeRunWords })
  /** A tool that is done, well or badly; other states are documented and not sent. */
  | (RunLine<"tool_use"> & { readonly part: OpenCodeRunTool })
  | (RunLine<"error"> & { readonly error: OpenCodeError });

const optionalText = optional(isString);
const count = optional(isNumber);
const ofPart = { id: optionalText, messageID: optionalText, sessionID: optionalText };

/** The part's own type, where it has one, is the one that the line carries. */
const carrying = (type: string, checks: Readonly<Record<string, Check>>): Check =>
  fields({ ...ofPart, type: optional(isOneOf([type])), ...checks });

const line = (checks: Readonly<Record<string, Check>>): Check => fields({ sessionID: optionalText, ...checks });
const words = { text: isString, time: optional(isShape) };

const isLine = byTag("type", {
  step_start: line({ part: optional(carrying("step-start", {})) }),
  step_finish: line({
    part: optional(
      carrying("step-finish", {
        reason: optionalText,
        cost: count,
        tokens: optional(
          fields({
            input: count,
            output: count,
            reasoning: count,
            cache: optional(fields({ read: count, write: count })),
          }),
        ),
      }),
    ),
  }),
  text: line({ part: carrying("text", words) }),
  reasoning: line({ part: carrying("reasoning", words) }),
  tool_use: line({
    part: carrying("tool", {
      callID: optionalText,
      tool: isString,
      state: fields({
        status: isOneOf(["pending", "running", "completed", "error"]),
        input: optional(isShape),
        output: optionalText,
        error: optionalText,
        title: optionalText,
        metadata: optional(isShape),
      }),
    }),
  }),
  error: line({ error: isOpenCodeError }),
});

export const isOpenCodeRunLine = (value: unknown): value is OpenCodeRunLine => isLine(value);

/** Whether a line can only be one of these: it names its session beside the part, or a step of the model. */
export function looksLikeOpenCodeRun(value: unknown): boolean {
  if (!isOpenCodeRunLine(value)) return false;
  return value.sessionID !== undefined ? optional(isNumber)(value.timestamp) : value.type.startsWith("step_");
}
