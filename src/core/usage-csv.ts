/** Usage rows as a table for spreadsheets: comma-separated values as RFC 4180 has them. */
import type { UsageRow } from "../protocol/resources.ts";

const columns = [
  "key",
  "turns",
  "steps",
  "tool_calls",
  "time_ms",
  "input",
  "output",
  "reasoning",
  "cache_read",
  "cache_write",
  "cost_usd",
  "estimated_usd",
  "unknown_prices",
] as const;

export function usageCsv(rows: readonly UsageRow[]): string {
  return [columns, ...rows.map(cellsOf)].map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");
}

function cellsOf({ key, turns, steps, toolCalls, timeMs, usage, estimatedUsd, unknownPrices }: UsageRow) {
  const { input, output, reasoning, cache_read, cache_write } = usage.tokens;
  const tokens = [input, output, reasoning, cache_read, cache_write];
  const costs = [usage.cost_usd ?? "", estimatedUsd ?? "", unknownPrices.join(" ")];
  return [key, turns, steps, toolCalls, timeMs, ...tokens, ...costs];
}

/** A cell that a spreadsheet would take for a formula is written so that it does not. */
function quoted(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
