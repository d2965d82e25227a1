/** Patterns of permission rules: `*` matches any characters, `?` matches one. Nothing else is special. Pure. */
import { findSequence, type StepCounter } from "./sequence.ts";

/** Whether the whole text matches. `git status *` also matches `git status`. */
export function matchesPattern({
  pattern,
  text,
  meter = { steps: 0 },
}: {
  readonly pattern: string;
  readonly text: string;
  readonly meter?: StepCounter;
}): boolean {
  if (pattern.endsWith(" *") && matches(pattern.slice(0, -2), { text, meter })) return true;
  return matches(pattern, { text, meter });
}

/** Finds each part between two stars at its first place after the part before: a later place cannot match more. */
function matches(pattern: string, { text, meter }: { text: string; meter: StepCounter }): boolean {
  const parts = pattern.split("*");
  const first = parts.shift() ?? "";
  const last = parts.pop();
  if (last === undefined) return text.length === first.length && fits(first, { text, at: 0, meter });
  if (first.length + last.length > text.length || !fits(first, { text, at: 0, meter })) return false;
  const end = text.length - last.length;
  if (!fits(last, { text, at: end, meter })) return false;
  let at = first.length;
  for (const part of parts) {
    const found = find(part, { text, from: at, until: end, meter });
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

function fits(part: string, { text, at, meter }: { text: string; at: number; meter: StepCounter }): boolean {
  for (let index = 0; index < part.length; index += 1) {
    meter.steps += 1;
    const wanted = part.charAt(index);
    if (wanted !== "?" && wanted !== text.charAt(at + index)) return false;
  }
  return true;
}

interface Range {
  readonly text: string;
  readonly from: number;
  readonly until: number;
  readonly meter: StepCounter;
}

function find(part: string, { text, from, until, meter }: Range): number {
  if (!part.includes("?")) return findSequence(part, { text, from, until, meter });
  // Linear in the text, times the length of this one part of a rule.
  for (let at = from; at + part.length <= until; at += 1) if (fits(part, { text, at, meter })) return at;
  return -1;
}
