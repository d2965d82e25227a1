/** The lines of `opencode run --format json`: whole parts of the server's messages, and no end of their own. */
import type {
  OpenCodeError,
  OpenCodeReasoningPart,
  OpenCodeStepFinishPart,
  OpenCodeStepStartPart,
  OpenCodeTextPart,
  OpenCodeToolPart,
} from "./opencode.ts";
import { isOpenCodeError, isOpenCodePart } from "./opencode-stream.ts";
import { isNumber, isShape, isString, optional, type Shape } from "./shape.ts";

interface RunLine<Type extends string> {
  readonly type: Type;
  /** Epoch milliseconds. */
  readonly timestamp?: number;
  readonly sessionID: string;
}

export type OpenCodeRunLine =
  | (RunLine<"step_start"> & { readonly part: OpenCodeStepStartPart })
  | (RunLine<"step_finish"> & { readonly part: OpenCodeStepFinishPart })
  | (RunLine<"text"> & { readonly part: OpenCodeTextPart })
  /** Only with `--thinking`. */
  | (RunLine<"reasoning"> & { readonly part: OpenCodeReasoningPart })
  /** A tool that is done, well or badly. */
  | (RunLine<"tool_use"> & { readonly part: OpenCodeToolPart })
  | (RunLine<"error"> & { readonly error: OpenCodeError });

/** What part each line carries. */
export const openCodeRunParts = {
  step_start: "step-start",
  step_finish: "step-finish",
  text: "text",
  reasoning: "reasoning",
  tool_use: "tool",
} as const;

const partNames: ReadonlyMap<unknown, string> = new Map(Object.entries(openCodeRunParts));

export function isOpenCodeRunLine(value: unknown): value is OpenCodeRunLine {
  if (!isShape(value) || !isString(value.sessionID)) return false;
  if (value.type === "error") return isOpenCodeError(value.error);
  const name = partNames.get(value.type);
  return name !== undefined && isShape(value.part) && value.part.type === name && isOpenCodePart(value.part);
}

/** Whether a line can only be one of these: it names its session beside the part. */
export function looksLikeOpenCodeRun(value: Shape): boolean {
  return isOpenCodeRunLine(value) && optional(isNumber)(value.timestamp);
}
