/**
 * Limits on Markdown that is parsed. The parser goes down the stack for every nested list and quote, and its time
 * grows with the square of the number of emphasis marks, so text beyond these limits is shown without markup.
 */

/** Maximum number of characters of a block, with the link targets it uses. Blocks are cut far below it. */
const MAX_CHARACTERS = 32_000;
/** Maximum number of list and quote marks at the beginning of a line. */
const MAX_LINE_MARKS = 32;
/** Maximum number of characters that may open or close emphasis. Parsing this many takes about 30 ms. */
const MAX_EMPHASIS_MARKS = 2_000;

/** Consecutive list and quote marks, one more than allowed. A bounded number of spaces keeps the work linear. */
const DEEP_LINE = new RegExp(`^(?:[ \\t]{0,8}(?:>|[-*+][ \\t]|\\d{1,9}[.)][ \\t])){${MAX_LINE_MARKS + 1}}`, "m");

/** Returns whether a block of Markdown can be parsed in bounded time and depth. */
export function isParsable(text: string): boolean {
  if (text.length > MAX_CHARACTERS || DEEP_LINE.test(text)) return false;
  let marks = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "*" || character === "_" || character === "~") marks += 1;
  }
  return marks <= MAX_EMPHASIS_MARKS;
}
