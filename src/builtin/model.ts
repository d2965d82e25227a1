/** A model of the AI SDK for a choice of ours. The packages are loaded when the first turn needs them, not before. */

import type { LanguageModel, ModelMessage, streamText } from "ai";
import { defined } from "../core/defined.ts";
import { lookUp } from "../core/look-up.ts";
import type { ModelChoice } from "./providers.ts";

export type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]["providerOptions"]>;

export interface OpenModel {
  readonly choice: ModelChoice;
  readonly model: LanguageModel;
  readonly providerOptions: ProviderOptions;
  readonly maxOutputTokens: number | undefined;
}

/** The answer's length; providers that need one get it, others their own default. */
const OUTPUT_MAX = 32_000;
/** Anthropic's API asks for a bound; this one every model of it takes. */
const OUTPUT_UNKNOWN = 8_192;

export async function openModel(choice: ModelChoice, { variant }: { variant: string | null }): Promise<OpenModel> {
  return {
    choice,
    model: await languageModel(choice),
    providerOptions: optionsFor({ choice, variant }),
    maxOutputTokens: outputBound(choice),
  };
}

function outputBound({ kind, limits }: ModelChoice): number | undefined {
  if (limits !== null && kind !== "openai") return Math.min(limits.output, OUTPUT_MAX);
  return kind === "anthropic" ? OUTPUT_UNKNOWN : undefined;
}

async function languageModel({ kind, provider, model, baseURL, apiKey }: ModelChoice): Promise<LanguageModel> {
  const key = apiKey ?? "none";
  switch (kind) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ baseURL, apiKey: key })(model);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ baseURL, apiKey: key })(model);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ baseURL, apiKey: key })(model);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const options = { baseURL, name: provider, includeUsage: true };
      return createOpenAICompatible(apiKey === null ? options : { ...options, apiKey })(model);
    }
  }
}

const budgets: Readonly<Record<string, number>> = { low: 4_000, medium: 10_000, high: 24_000 };

/** A variant is how hard the model thinks, in each provider's own words. */
function optionsFor({ choice, variant }: { choice: ModelChoice; variant: string | null }): ProviderOptions {
  const budget = variant === null ? undefined : lookUp(budgets, variant);
  switch (choice.kind) {
    case "anthropic":
      return budget === undefined ? {} : { anthropic: { thinking: { type: "enabled", budgetTokens: budget } } };
    case "openai":
      // Nothing is stored with the provider: the conversation is ours and goes with every request.
      return { openai: { store: false, ...defined({ reasoningEffort: variant ?? undefined }) } };
    case "google":
      return budget === undefined
        ? {}
        : { google: { thinkingConfig: { thinkingBudget: budget, includeThoughts: true } } };
    case "openai-compatible":
      return variant === null ? {} : { [choice.provider]: { reasoningEffort: variant } };
  }
}

/**
 * Anthropic caches up to a mark: after the system prompt and after the newest message, so that each step reads the
 * last.
 */
export function withCacheMarks(messages: readonly ModelMessage[], { kind }: ModelChoice): ModelMessage[] {
  if (kind !== "anthropic") return [...messages];
  const last = messages.length - 1;
  return messages.map((message, index) =>
    index === last || message.role === "system"
      ? { ...message, providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } }
      : message,
  );
}
