/** Makes hidden characters visible, wherever a person must see exactly what an agent does. */

// Whatever leaves no mark on the screen, changes the order of what does, or passes for a space.
const HIDDEN = /(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** For what a person approves: nothing is removed, and every hidden character is written out, as `\x1b` or `\u202e`. */
export const visible = (text: string): string => text.replace(HIDDEN, written);

function written(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}

/** On one line, with line breaks as visible as the rest: a field cannot pass for the next one. */
export const labelled = (text: string): string => visible(text).replaceAll("\n", "\\n");
