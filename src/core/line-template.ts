/**
 * Lines that differ from the one before only in a few values. While a model streams, nearly every line is such a line:
 * it is recognised by comparing it with the last one, and only the values that vary are read, without parsing the rest.
 */

/** A JSON line, cut at the values that vary. */
export interface LineTemplate {
  /** What stands before, between and behind the values; quotes are part of it. */
  readonly fixed: readonly string[];
  readonly values: readonly ValueKind[];
}

type ValueKind = "string" | "number";

/** A line inside of a longer text: from `start` up to `end`. */
export interface LineSpan {
  readonly source: string;
  readonly start: number;
  readonly end: number;
}

export const spanOf = (text: string): LineSpan => ({ source: text, start: 0, end: text.length });
export const textOf = ({ source, start, end }: LineSpan): string => source.slice(start, end);

const QUOTE = 34;
const BACKSLASH = 92;
const SPACE = 32;
const ZERO = 48;
/** Longer numbers lose digits when they are parsed. */
const MOST_DIGITS = 15;
/** The engine copies a slice up to this length; a longer one would keep the whole chunk of output in memory. */
const COPIED_LENGTH = 12;

/**
 * Cuts a line at the values of some keys, in the order of the keys: the delta's text is the first. Null where that
 * cannot be done for sure. Quotes inside of strings are escaped: a key with its quotes is found only where it is one.
 */
export function cutLine(line: string, keys: readonly string[]): LineTemplate | null {
  const fixed: string[] = [];
  const values: ValueKind[] = [];
  let at = 0;
  for (const key of keys) {
    const span = valueIn(line, key);
    if (span === null || span.start < at) return null;
    fixed.push(line.slice(at, span.start));
    values.push(span.kind);
    at = span.end;
  }
  fixed.push(line.slice(at));
  return values[0] === "string" ? { fixed: fixed.map(copyOf), values } : null;
}

interface Value {
  readonly kind: ValueKind;
  readonly start: number;
  readonly end: number;
}

function valueIn(line: string, key: string): Value | null {
  const name = `"${key}":`;
  const found = line.indexOf(name);
  if (found < 0 || line.indexOf(name, found + 1) >= 0) return null;
  const start = found + name.length;
  if (line.charCodeAt(start) === QUOTE) {
    const end = endOfString(line, start + 1, line.length);
    return end < 0 ? null : { kind: "string", start: start + 1, end };
  }
  const end = endOfNumber(line, start);
  return end < 0 ? null : { kind: "number", start, end };
}

/** A slice keeps what it is a slice of, and comparing with it takes longer. */
function copyOf(text: string): string {
  const copy: unknown = JSON.parse(JSON.stringify(text));
  return typeof copy === "string" ? copy : text;
}

/**
 * The delta's text in a line that fits the template and is sound JSON; else null. `cuts` gets where the values are in
 * the source, without quotes: start, end, start, end … It is the caller's, so that a flood needs no list for each line.
 */
export function matchLine(
  { fixed, values }: LineTemplate,
  { source, start, end: lineEnd }: LineSpan,
  cuts: number[],
): string | null {
  let delta = "";
  let at = start;
  for (let index = 0; index < values.length; index += 1) {
    const before = fixed[index] ?? "";
    // Not `startsWith`, which compares letter by letter and takes six times as long.
    if (source.slice(at, at + before.length) !== before) return null;
    at += before.length;
    const end = values[index] === "string" ? endOfString(source, at, lineEnd) : endOfNumber(source, at);
    if (end < 0) return null;
    if (index === 0) {
      const read = readString(source, at, end);
      if (read === null) return null;
      delta = read;
    } else if (values[index] === "string" && !isPlain(source, at, end)) return null;
    cuts[2 * index] = at;
    cuts[2 * index + 1] = end;
    at = end;
  }
  const tail = fixed[values.length] ?? "";
  return lineEnd === at + tail.length && source.slice(at, lineEnd) === tail ? delta : null;
}

/** The place of the quote that ends a string before `limit`, or -1. */
function endOfString(line: string, start: number, limit: number): number {
  for (let end = line.indexOf('"', start); end >= 0 && end < limit; end = line.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (end - 1 - backslashes >= start && line.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}

/** Behind the last digit of a whole number that is not negative, or -1. */
function endOfNumber(line: string, start: number): number {
  let end = start;
  while (isDigit(line.charCodeAt(end))) end += 1;
  const length = end - start;
  if (length === 0 || length > MOST_DIGITS || (length > 1 && line.charCodeAt(start) === ZERO)) return -1;
  return end;
}

const isDigit = (unit: number): boolean => unit >= ZERO && unit < ZERO + 10;

/** Nothing to unescape, and nothing that may not stand in a string. */
function isPlain(line: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const unit = line.charCodeAt(at);
    if (unit < SPACE || unit === BACKSLASH) return false;
  }
  return true;
}

/** Null for what is no string of JSON. */
function readString(line: string, start: number, end: number): string | null {
  if (end - start <= COPIED_LENGTH && isPlain(line, start, end)) return line.slice(start, end);
  try {
    const value: unknown = JSON.parse(line.slice(start - 1, end + 1));
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}
