/** Why a model step ended: the words of every provider and agent in one vocabulary. */
import type { Finish } from "../protocol/events.ts";

/** Words are compared without case and separators: `tool_use`, `tool-use` and `toolUse` are one. */
const words: ReadonlyMap<string, Finish> = new Map<string, Finish>([
  ...named("stop", ["stop", "end_turn", "stop_sequence", "pause_turn", "completed", "eos"]),
  ...named("tool-calls", ["tool_calls", "tool_use", "function_call"]),
  ...named("length", ["length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"]),
  ...named("content-filter", ["content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content"]),
  ...named("error", ["error", "failed"]),
]);

function named(finish: Finish, natives: readonly string[]): [string, Finish][] {
  return natives.flatMap((native): [string, Finish][] => [
    [native, finish],
    [plain(native), finish],
  ]);
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z]/g, "");
}

/** A word that nobody has described is `other`. */
export const finishOf = (native: string): Finish => words.get(native) ?? words.get(plain(native)) ?? "other";
