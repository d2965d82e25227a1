/** Patterns of permission rules: `*` matches any characters, `?` matches one. Nothing else is special. Pure. */

/** Counts the comparisons, so that a test can show that the work is linear in the text. */
interface StepCounter {
  steps: number;
}

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
    while (at + part.length <= end && !fits(part, { text, at, meter })) at += 1;
    if (at + part.length > end) return false;
    at += part.length;
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
