/** What both formats of the OpenAI server share: an answer on its way, and how its tokens are counted. */
import type { ServerResponse } from "node:http";
import type { RecordedRequest, ScriptTurn } from "./script.ts";

type Answer = Extract<ScriptTurn, { type: "answer" }>;

/** An answer on its way, in either of the two formats. */
export interface Reply {
  readonly number: number;
  readonly turn: Answer;
  readonly recorded: RecordedRequest;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** OpenAI counts cached tokens into the input and reasoning into the output. */
export function countsOf({ usage }: Answer): { input: number; cached: number; output: number; reasoning: number } {
  const { input = 100, output = 20, reasoning = 0, cacheRead = 0 } = usage ?? {};
  return { input: input + cacheRead, cached: cacheRead, output: output + reasoning, reasoning };
}
