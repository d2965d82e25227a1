/** Names and values of the GenAI semantic conventions (version 1.41), and how ours become theirs. */

import { hashHex } from "../../core/hash.ts";
import { lookUp } from "../../core/look-up.ts";
import type { Tokens } from "../../protocol/events.ts";
import type { Attributes, Measure, Span, SpanIds } from "./telemetry.ts";

export interface Subject {
  readonly agent: string | null;
  readonly model: string | null;
  readonly session_id: string;
}

type Operation = "create_agent" | "invoke_agent" | "chat" | "execute_tool";

/** The conventions' names of providers, for agents whose models come from one. */
const providers: Readonly<Record<string, string>> = {
  claude: "anthropic",
  "claude-acp": "anthropic",
  anthropic: "anthropic",
  codex: "openai",
  "codex-acp": "openai",
  openai: "openai",
  gemini: "gcp.gemini",
  google: "gcp.gemini",
  grok: "x_ai",
  kimi: "moonshot_ai",
  mistral: "mistral_ai",
  deepseek: "deepseek",
  groq: "groq",
};

/** Agents with several providers name theirs before the model: `anthropic/claude-…`. Else it is the agent's name. */
function providerOf({ agent, model }: Subject): string {
  const named = /^([\w-]+)\//.exec(model ?? "")?.[1] ?? agent ?? "unknown";
  return lookUp(providers, named) ?? named;
}

export function attributesOf(operation: Operation, subject: Subject): Attributes {
  const { agent, model, session_id } = subject;
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": providerOf(subject),
    "gen_ai.agent.name": agent ?? "unknown",
    "gen_ai.conversation.id": session_id,
    ...(model === null ? {} : { "gen_ai.request.model": model }),
  };
}

const inputOf = ({ input, cache_read, cache_write }: Tokens): number => input + cache_read + cache_write;
const outputOf = ({ output, reasoning }: Tokens): number => output + reasoning;

/** There, input includes what a cache gave or took, and output includes reasoning. */
export const tokensOf = (tokens: Tokens): Attributes => ({
  "gen_ai.usage.input_tokens": inputOf(tokens),
  "gen_ai.usage.output_tokens": outputOf(tokens),
  ...(tokens.cache_read === 0 ? {} : { "gen_ai.usage.cache_read.input_tokens": tokens.cache_read }),
  ...(tokens.cache_write === 0 ? {} : { "gen_ai.usage.cache_creation.input_tokens": tokens.cache_write }),
});

export interface SpanNames {
  /** Our ids of what the trace, the span and its parent are about. */
  readonly trace: string;
  readonly span: string;
  readonly parent?: string;
}

export const spanIds = ({ trace, span, parent }: SpanNames): SpanIds => ({
  traceId: hashHex(`trace ${trace}`) + hashHex(`trace of ${trace}`),
  spanId: hashHex(`span ${span}`),
  ...(parent === undefined ? {} : { parentSpanId: hashHex(`span ${parent}`) }),
});

/** Labels of few values: no ids of sessions. */
const LABELS = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.agent.name"];

const labelsOf = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => LABELS.includes(name)));

export const durationOf = ({ attributes, startedAt, endedAt, error }: Span): Measure => ({
  type: "distribution",
  name: "gen_ai.client.operation.duration",
  unit: "s",
  value: (endedAt - startedAt) / 1000,
  attributes: { ...labelsOf(attributes), ...(error === null ? {} : { "error.type": error.type }) },
  at: endedAt,
});

export function measuresOf(used: {
  readonly subject: Subject;
  readonly tokens: Tokens;
  readonly at: number;
}): Measure[] {
  const labels = labelsOf(attributesOf("chat", used.subject));
  return [["input", inputOf(used.tokens)] as const, ["output", outputOf(used.tokens)] as const].map(
    ([kind, value]): Measure => ({
      type: "distribution",
      name: "gen_ai.client.token.usage",
      unit: "{token}",
      value,
      attributes: { ...labels, "gen_ai.token.type": kind },
      at: used.at,
    }),
  );
}
