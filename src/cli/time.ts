/** Spans of time as people write them. */
import { UsageError } from "./usage.ts";

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `30s`, `90m`, `7d`. */
export function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const factor = UNITS[unit ?? ""];
  if (amount === undefined || factor === undefined) {
    throw new UsageError(`${JSON.stringify(text)} is no span of time; write it like 30s, 90m, 12h or 7d.`);
  }
  return Number(amount) * factor;
}

export function ago(time: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`;
  return `${Math.floor(seconds / 86_400)}d ago`;
}
