/** What tokens cost: a table of models, and how one is found in it by its name. What is not in it has no price. */
import type { Price, Prices } from "../protocol/budget.ts";
import type { Tokens } from "../protocol/events.ts";

const MILLION = 1_000_000;

/**
 * The price of a model by its name, with or without the provider before it, the date behind it or a note of the
 * context's size. Names that only begin alike are other models: a guess would be a wrong price.
 */
export function priceOf(prices: Prices, model: string): Price | null {
  for (const name of namesOf(model)) {
    if (Object.hasOwn(prices, name)) return prices[name] ?? null;
  }
  return null;
}

function namesOf(model: string): string[] {
  const bare = model.slice(model.lastIndexOf("/") + 1);
  const undated = bare.replace(/\[\w+\]$/, "").replace(/(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest))$/, "");
  return [model, bare, undated].map((name) => name.toLowerCase());
}

export function costOf(price: Price, tokens: Tokens): number {
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  const sum =
    tokens.input * input +
    (tokens.output + tokens.reasoning) * output +
    tokens.cache_read * cacheRead +
    tokens.cache_write * cacheWrite;
  return sum / MILLION;
}
