/** One model step: one streamed call, said line by line as it comes, and what became of it. */
import type { TextStreamPart, ToolSet } from "ai";
import type { BuiltinTokens } from "../dialects/builtin.ts";
import type { AssistantParts } from "./conversation.ts";
import type { Finish } from "./decide.ts";
import { type Failure, readFailure } from "./failure.ts";
import { type Speaker, startSpeaker } from "./speaker.ts";
import { type ModelRequest, streamModel } from "./stream.ts";

/** A call the model made, with the id it has in this session. */
export interface ModelCall {
  readonly call_id: string;
  readonly tool: string;
  readonly input: unknown;
}

export type StepResult =
  | {
      readonly type: "finished";
      readonly message_id: string;
      readonly content: AssistantParts;
      readonly calls: readonly ModelCall[];
      readonly finish: Finish;
      readonly refused: boolean;
      readonly tokens: BuiltinTokens;
    }
  | { readonly type: "failed"; readonly failure: Failure }
  /** `said`: the texts as far as they got, because the user has read them. */
  | { readonly type: "aborted"; readonly message_id: string; readonly said: AssistantParts };

export interface StepOptions {
  readonly request: ModelRequest;
  readonly speaker: Speaker;
  readonly step: number;
  readonly message_id: string;
}

export async function runStep({ request, speaker, step, message_id }: StepOptions): Promise<StepResult> {
  const stream = startSpeaker(speaker, { message_id, tools: request.tools });
  await speaker.say({ type: "step.start", step, message_id, ...speaker.mark });
  const seen: Seen = { failure: null, finish: null, tokens: noTokens, refused: false };
  try {
    for await (const part of streamModel(request)) {
      note(seen, part);
      if (seen.failure !== null) break;
      await stream.hear(part);
    }
  } catch (error) {
    seen.failure ??= readFailure(error);
  }
  if (request.signal.aborted) {
    const said = await stream.breakOff();
    await speaker.say({ type: "step.failed", step, message_id, message: "aborted", ...speaker.mark });
    return { type: "aborted", message_id, said };
  }
  if (seen.failure !== null) {
    await stream.breakOff();
    const { message } = seen.failure;
    await speaker.say({ type: "step.failed", step, message_id, message, ...speaker.mark });
    return { type: "failed", failure: seen.failure };
  }
  const { content, calls } = await stream.finish();
  const { finish, tokens, refused } = seen;
  const ended = finish ?? "unknown";
  await speaker.say({ type: "step.finish", step, message_id, finish: ended, tokens, ...speaker.mark });
  return { type: "finished", message_id, content, calls, finish: ended, refused, tokens };
}

/** The same call without a word of it said: for summaries. */
export async function runQuietly(
  request: ModelRequest,
): Promise<{ type: "finished"; text: string; tokens: BuiltinTokens } | { type: "failed"; failure: Failure }> {
  const seen: Seen = { failure: null, finish: null, tokens: noTokens, refused: false };
  let text = "";
  try {
    for await (const part of streamModel(request)) {
      note(seen, part);
      if (seen.failure !== null) break;
      if (part.type === "text-delta") text += part.text;
    }
  } catch (error) {
    seen.failure ??= readFailure(error);
  }
  request.signal.throwIfAborted();
  if (seen.failure !== null) return { type: "failed", failure: seen.failure };
  return { type: "finished", text, tokens: seen.tokens };
}

export const noTokens: BuiltinTokens = { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 };

interface Seen {
  failure: Failure | null;
  finish: Finish | null;
  tokens: BuiltinTokens;
  refused: boolean;
}

type Part = TextStreamPart<ToolSet>;

function note(seen: Seen, part: Part): void {
  if (part.type === "error") noteError(seen, part.error);
  if (part.type !== "finish-step") return;
  const { finishReason, rawFinishReason: raw, usage } = part;
  seen.tokens = tokensOf(usage);
  // The provider itself says that there was no room left for the answer.
  if (raw === "model_context_window_exceeded")
    seen.failure = readFailure("The context window is full: too many tokens");
  else if (seen.failure === null) seen.finish ??= finishOf(finishReason, raw);
  seen.refused = finishReason === "content-filter" && (raw === undefined || raw === "refusal" || raw === "stop");
}

/** A stream that ends without a word why is no error to us: the decision table knows what to do with it. */
function noteError(seen: Seen, error: unknown): void {
  const failure = readFailure(error);
  if (/without a finish reason/i.test(failure.message)) seen.finish = "unknown";
  else seen.failure ??= failure;
}

function finishOf(finish: Exclude<Finish, "unknown">, raw: string | undefined): Finish {
  return finish === "other" && (raw === undefined || raw === "unknown") ? "unknown" : finish;
}

type Usage = Extract<Part, { type: "finish-step" }>["usage"];

/** Input without what the cache gave, output without reasoning, whatever the provider counts. */
function tokensOf({ inputTokens = 0, inputTokenDetails, outputTokens = 0, outputTokenDetails }: Usage): BuiltinTokens {
  const cache_read = inputTokenDetails.cacheReadTokens ?? 0;
  const cache_write = inputTokenDetails.cacheWriteTokens ?? 0;
  const reasoning = outputTokenDetails.reasoningTokens ?? 0;
  return {
    input: inputTokenDetails.noCacheTokens ?? Math.max(0, inputTokens - cache_read - cache_write),
    output: Math.max(0, outputTokens - reasoning),
    reasoning,
    cache_read,
    cache_write,
  };
}
