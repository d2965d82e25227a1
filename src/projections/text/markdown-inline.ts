/** What is inside a line of markdown, word by word: bold text, code and links. */
import type { Paint } from "./style.ts";

/** A word with its colours, and how many columns it takes. */
export interface Word {
  readonly shown: string;
  readonly width: number;
}

const INLINE = /(`+)([^`]+?)\1|\*\*(.+?)\*\*|\[([^\]]+)\]\(([^)\s]+)[^)]*\)/g;

/** Bold text, code and links. A single * or _ stays: too often it is part of a name or a formula. */
export function inlineText(text: string, paint: Paint): Word[] {
  const out: Word[] = [];
  const add = (piece: string, style: (word: string) => string): void => {
    for (const word of piece.split(/(?<= )/)) if (word !== "") out.push({ shown: style(word), width: cells(word) });
  };
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    add(text.slice(from, match.index), (word) => word);
    const [all, , code, bold, label, address] = match;
    if (code !== undefined) add(code, paint.cyan);
    else if (bold !== undefined) add(bold.replaceAll(/`([^`]+)`/g, "$1"), paint.bold);
    else if (label !== undefined) {
      add(label, paint.bold);
      if (address !== undefined && address !== label) add(` (${address})`, paint.dim);
    }
    from = match.index + all.length;
  }
  add(text.slice(from), (word) => word);
  return out;
}

/** From here on most characters take two columns. */
const WIDE = "\u1100";

const cells = (text: string): number => {
  let width = 0;
  for (const character of text)
    width += character >= WIDE && character < "\ufe00" && !/[‐-⟿⠀-⯿]/u.test(character) ? 2 : 1;
  return width;
};
