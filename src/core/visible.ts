/** Makes hidden characters visible, in what a user approves and in names of folders, sessions and titles. */

// Whatever leaves no mark on the screen, changes the order of what does, or passes for a space.
const HIDDEN = /(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Writes every hidden character as an escape such as `\x1b` or `\u202e`, and removes nothing. */
export const visible = (text: string): string => text.replace(HIDDEN, written);

function written(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}

/** On one line, with line breaks as visible as the rest: a field cannot pass for the next one. */
export const labelled = (text: string): string => visible(text).replaceAll("\n", "\\n");
