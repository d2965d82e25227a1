/** What is inside a line of markdown, word by word: bold text, code and links. */
import { unreachable } from "../../core/fold.ts";
import type { Paint } from "./style.ts";

/** A word with its colours, and how many columns it takes. */
export interface Word {
  readonly shown: string;
  readonly width: number;
}

/** Bold text, code and links. A single * or _ stays: too often it is part of a name or a formula. */
export function inlineText(text: string, paint: Paint): Word[] {
  const out: Word[] = [];
  const add = (piece: string, style: (word: string) => string): void => {
    for (const word of piece.split(/(?<= )/)) if (word !== "") out.push({ shown: style(word), width: cells(word) });
  };
  let from = 0;
  for (const span of spansOf(text)) {
    add(text.slice(from, span.start), (word) => word);
    switch (span.type) {
      case "code":
        add(span.text, paint.cyan);
        break;
      case "bold":
        add(withoutTicks(span.text), paint.bold);
        break;
      case "link":
        add(span.text, paint.bold);
        if (span.address !== span.text) add(` (${span.address})`, paint.dim);
        break;
      default:
        unreachable(span);
    }
    from = span.end;
  }
  add(text.slice(from), (word) => word);
  return out;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

type Span = Place & ({ readonly type: "code" | "bold" } | { readonly type: "link"; readonly address: string });

/** Finds bold text, code and links from left to right, in time that grows with the length of the text only. */
function* spansOf(text: string): Generator<Span> {
  const marks = {
    tick: finder(text, "`"),
    bold: finder(text, "**"),
    bracket: finder(text, "]"),
    round: finder(text, ")"),
  };
  for (let at = 0; at < text.length; ) {
    const span = spanAt(text, { at, marks });
    if (span !== null) yield span;
    at = span?.end ?? (text[at] === "`" ? endOfTicks(text, at) : at + 1);
  }
}

interface Marks {
  readonly tick: Finder;
  readonly bold: Finder;
  readonly bracket: Finder;
  readonly round: Finder;
}

function spanAt(text: string, { at, marks }: { readonly at: number; readonly marks: Marks }): Span | null {
  switch (text[at]) {
    case "`":
      return codeAt(text, { at, marks });
    case "*": {
      const end = text[at + 1] === "*" ? marks.bold(at + 3) : -1;
      return end === -1 ? null : { type: "bold", start: at, end: end + 2, text: text.slice(at + 2, end) };
    }
    case "[":
      return linkAt(text, { at, marks });
    default:
      return null;
  }
}

/** Code ends at the next backticks; of more opening ones than closing ones, the first are text. */
function codeAt(text: string, { at, marks }: { readonly at: number; readonly marks: Marks }): Span | null {
  const from = endOfTicks(text, at);
  const to = marks.tick(from);
  if (to === -1) return null;
  const count = Math.min(from - at, endOfTicks(text, to) - to);
  return { type: "code", start: from - count, end: to + count, text: text.slice(from, to) };
}

function linkAt(text: string, { at, marks }: { readonly at: number; readonly marks: Marks }): Span | null {
  const middle = marks.bracket(at + 1);
  if (middle <= at + 1 || text[middle + 1] !== "(") return null;
  const end = marks.round(middle + 2);
  if (end <= middle + 2 || /\s/.test(text[middle + 2] ?? "")) return null;
  const [address = ""] = text.slice(middle + 2, end).split(/\s/, 1);
  return { type: "link", start: at, end: end + 1, text: text.slice(at + 1, middle), address };
}

function endOfTicks(text: string, at: number): number {
  let end = at;
  while (text[end] === "`") end += 1;
  return end;
}

/** Returns the first place of the mark from a position on, or -1. */
type Finder = (from: number) => number;

/** Searches each part of the text once, for positions that grow. */
function finder(text: string, mark: string): Finder {
  let found = -2;
  return (from) => {
    if (found !== -1 && found < from) found = text.indexOf(mark, from);
    return found;
  };
}

function withoutTicks(text: string): string {
  let out = "";
  let from = 0;
  for (const span of spansOf(text)) {
    if (span.type !== "code") continue;
    out += text.slice(from, span.start) + span.text;
    from = span.end;
  }
  return out + text.slice(from);
}

/** From here on most characters take two columns. */
const WIDE = "\u1100";

const cells = (text: string): number => {
  let width = 0;
  for (const character of text)
    width += character >= WIDE && character < "\ufe00" && !/[‐-⟿⠀-⯿]/u.test(character) ? 2 : 1;
  return width;
};
