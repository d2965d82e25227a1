/** Finds one sequence inside another in linear time (Knuth, Morris, Pratt): characters of a text, lines of a file. */

/** Counts the comparisons, so that a test can show that the work is linear. */
export interface StepCounter {
  steps: number;
}

export interface Within<Part> {
  readonly text: ArrayLike<Part>;
  readonly from?: number;
  /** Nothing at or after this place is part of it. */
  readonly until?: number;
  readonly meter?: StepCounter;
}

/** The first place, or -1. */
export function findSequence<Part>(
  wanted: ArrayLike<Part>,
  { text, from = 0, until = text.length, meter = { steps: 0 } }: Within<Part>,
): number {
  if (wanted.length === 0) return from;
  if (wanted.length > until - from) return -1;
  const borders = bordersOf(wanted, meter);
  let matched = 0;
  for (let at = from; at < until; at += 1) {
    matched = advance(wanted, { borders, matched, next: text[at], meter });
    if (matched === wanted.length) return at + 1 - wanted.length;
  }
  return -1;
}

/** For each length, how much of the beginning is also its end: so far a search may keep what it has seen. */
function bordersOf<Part>(wanted: ArrayLike<Part>, meter: StepCounter): Int32Array {
  const borders = new Int32Array(wanted.length + 1);
  let border = 0;
  for (let at = 1; at < wanted.length; at += 1) {
    border = advance(wanted, { borders, matched: border, next: wanted[at], meter });
    borders[at + 1] = border;
  }
  return borders;
}

interface Advance<Part> {
  readonly borders: Int32Array;
  readonly matched: number;
  readonly next: Part | undefined;
  readonly meter: StepCounter;
}

function advance<Part>(wanted: ArrayLike<Part>, { borders, matched, next, meter }: Advance<Part>): number {
  let length = matched;
  meter.steps += 1;
  while (length > 0 && wanted[length] !== next) {
    length = borders[length] ?? 0;
    meter.steps += 1;
  }
  return wanted[length] === next ? length + 1 : length;
}
