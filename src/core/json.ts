/**
 * JSON from outside, bounded in depth: `JSON.parse` takes any, but what walks the value afterwards (`JSON.stringify`,
 * cloning, our own folds) goes down the stack and would overflow at some thousands of levels.
 */

/** Levels of objects and arrays. Far more than any agent sends, far less than a stack holds. */
export const DEPTH_LIMIT = 500;

const QUOTE = 34;
const BACKSLASH = 92;

/** As `JSON.parse`, and throws for what is nested too deeply too. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`nested deeper than ${DEPTH_LIMIT} levels`);
  return JSON.parse(text);
}

/** One pass over the text; a text that is shorter than its brackets would be is not looked at. */
export function isTooDeep(text: string): boolean {
  if (text.length <= DEPTH_LIMIT) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > DEPTH_LIMIT) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      default:
    }
  }
  return false;
}

/** The place of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The same bound for a value that somebody else has parsed. */
export function isValueTooDeep(value: unknown): boolean {
  let level = [value].filter(isBranch);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > DEPTH_LIMIT) return true;
    level = level.flatMap((branch) => Object.values(branch).filter(isBranch));
  }
  return false;
}

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether two values are the same JSON; the order of keys does not matter. Both are bounded in depth. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isRecord(one) || !isRecord(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  if (Array.isArray(one) && one.length !== other.length) return false;
  const isSame = (key: string): boolean => isSameJson(one[key], other[key]);
  return Object.keys(one).every(isSame) && Object.keys(other).every((key) => key in one || other[key] === undefined);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => isBranch(value);
