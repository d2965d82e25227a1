/** Small sentences of numbers: how long, how many tokens, how much it cost. */
import type { Tokens, UsageTotal } from "../../protocol/events.ts";

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function tokens({ input, output, reasoning, cache_read, cache_write }: Tokens): string {
  const read = input + cache_read + cache_write;
  const cached = cache_read > 0 ? ` (${count(cache_read)} cached)` : "";
  return `${count(read)} tokens in${cached}, ${count(output + reasoning)} out`;
}

const SMALLEST_COST = 0.0001;

export function cost({ cost_usd, priced }: UsageTotal): string | null {
  if (cost_usd === null || priced === "none") return null;
  if (cost_usd > 0 && cost_usd < SMALLEST_COST) return `under $${SMALLEST_COST}`;
  const digits = cost_usd > 0 && cost_usd < 0.01 ? 4 : 2;
  return `${priced === "partial" ? "at least " : ""}$${cost_usd.toFixed(digits)}`;
}

export function count(value: number): string {
  if (value < 10_000) return String(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** Lines added and removed, from a unified diff. */
export function diffSize(diff: string): string {
  let added = 0;
  let removed = 0;
  for (const line of diff.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++")) added += 1;
    else if (line.startsWith("-") && !line.startsWith("---")) removed += 1;
  }
  return `+${added} −${removed}`;
}
