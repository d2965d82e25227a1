/** Reads the words of a bash command line: quotes, escapes, expansions and the commands in substitutions. Pure. */
import { deeper, failUnclosed, hasEnded, markUnclear, nested, peek, type Reader, type Word } from "./shell-reader.ts";

interface OpenWord {
  readonly pieces: string[];
  literal: boolean;
  quoted: boolean;
  /** Whether an unquoted `{` was read: a comma or two dots after it make a brace expansion. */
  hasBrace: boolean;
}

const endsWord = new Set(["", " ", "\t", "\n", ";", "&", "|", "(", ")", "<", ">"]);

/** Reads one word. Returns null if there is none at the position. */
export function readWord(reader: Reader): Word | null {
  const start = reader.at;
  const word: OpenWord = { pieces: [], literal: true, quoted: false, hasBrace: false };
  readProcessSubstitution(reader, word);
  for (let next = peek(reader); !endsWord.has(next); next = peek(reader)) readPiece(reader, { word, next, start });
  if (reader.at === start) return null;
  return { text: word.pieces.join(""), literal: word.literal, quoted: word.quoted };
}

function readProcessSubstitution(reader: Reader, word: OpenWord): void {
  if (!/^[<>]$/.test(peek(reader)) || peek(reader, 1) !== "(") return;
  const start = reader.at;
  reader.at += 2;
  nested(reader, () => reader.readList(reader, ")"));
  expand(reader, { word, start, what: "a process substitution" });
}

interface Piece {
  readonly word: OpenWord;
  readonly next: string;
  readonly start: number;
}

function readPiece(reader: Reader, { word, next, start }: Piece): void {
  switch (next) {
    case "'":
      return readSingleQuotes(reader, word);
    case '"':
      reader.at += 1;
      word.quoted = true;
      return readDoubleQuotes(reader, word);
    case "\\":
      return readEscape(reader, word);
    case "$":
      return readDollar(reader, { word, quoted: false });
    case "`":
      return readBackticks(reader, { word, quoted: false });
    default:
      checkPlain(reader, { word, next, start });
      word.pieces.push(next);
      reader.at += 1;
  }
}

/** Marks an unquoted character that is or may be expanded. */
function checkPlain(reader: Reader, { word, next, start }: Piece): void {
  const isFirst = reader.at === start;
  const after = peek(reader, 1);
  const notLiteral = (what: string): void => {
    word.literal = false;
    markUnclear(reader, `it has ${what}`);
  };
  if (next === "*" || next === "?") notLiteral("a file name pattern");
  if (next === "[" && !isTest(reader, { start, after })) notLiteral("a file name pattern");
  if (next === "{") word.hasBrace = true;
  if (word.hasBrace && (next === "," || (next === "." && after === "."))) notLiteral("a brace expansion");
  const mayBeHome = next === "~" && (isFirst || /[=:]/.test(reader.text.charAt(reader.at - 1)));
  if (mayBeHome && after !== "/" && !endsWord.has(after)) notLiteral("a home folder of another user");
  // In zsh, `=name` is the path of a program.
  if (next === "=" && isFirst && /\w/.test(after)) notLiteral("a word that starts with =");
  if (isHistory(next, after)) notLiteral("a history expansion");
}

/** Whether the bracket belongs to the command `[` or `[[`. */
const isTest = ({ text, at }: Reader, { start, after }: { start: number; after: string }): boolean =>
  (at === start && (endsWord.has(after) || after === "[")) ||
  (at === start + 1 && text.charAt(start) === "[" && endsWord.has(after));

const isHistory = (next: string, after: string): boolean => next === "!" && /[\w!$?^*-]/.test(after);

function readSingleQuotes(reader: Reader, word: OpenWord): void {
  const end = reader.text.indexOf("'", reader.at + 1);
  word.quoted = true;
  word.pieces.push(reader.text.slice(reader.at + 1, end < 0 ? undefined : end));
  if (end < 0) failUnclosed(reader, "quote");
  else reader.at = end + 1;
}

/** Reads to the closing quote, which is consumed. */
function readDoubleQuotes(reader: Reader, word: OpenWord): void {
  for (let next = peek(reader); next !== '"'; next = peek(reader)) {
    if (hasEnded(reader)) {
      failUnclosed(reader, "quote");
      return;
    }
    readQuotedPiece(reader, { word, next });
  }
  reader.at += 1;
}

function readQuotedPiece(reader: Reader, { word, next }: { word: OpenWord; next: string }): void {
  if (next === "$") return readDollar(reader, { word, quoted: true });
  if (next === "`") return readBackticks(reader, { word, quoted: true });
  const after = peek(reader, 1);
  if (isHistory(next, after)) markUnclear(reader, "it has a history expansion");
  if (next === "\\" && /[$`"\\\n]/.test(after)) {
    if (after !== "\n") word.pieces.push(after);
    reader.at += 2;
    return;
  }
  word.pieces.push(next);
  reader.at += 1;
}

function readEscape(reader: Reader, word: OpenWord): void {
  const escaped = peek(reader, 1);
  reader.at += 2;
  if (escaped === "\n") {
    if (!endsWord.has(peek(reader))) markUnclear(reader, "a line continuation is inside a word");
    return;
  }
  if (escaped === "") markUnclear(reader, "it ends with a backslash");
  // Some shells read such escapes as other characters.
  if (/\w/.test(escaped)) markUnclear(reader, "it has a backslash before a letter or digit");
  word.quoted = true;
  word.pieces.push(escaped);
}

interface Expansion {
  readonly word: OpenWord;
  /** Whether it is inside double quotes. */
  readonly quoted: boolean;
}

/** Keeps an expansion in the word as it was written. */
function expand(reader: Reader, { word, start, what }: { word: OpenWord; start: number; what: string }): void {
  markUnclear(reader, `it has ${what}`);
  word.literal = false;
  word.pieces.push(reader.text.slice(start, reader.at));
}

function readDollar(reader: Reader, expansion: Expansion): void {
  const { word, quoted } = expansion;
  const start = reader.at;
  const after = peek(reader, 1);
  if (after === "(") return readSubstitution(reader, word);
  if (after === "{") return readBraces(reader, expansion);
  if (after === "'" && !quoted) return readAnsiQuotes(reader, word);
  if (after === "[") {
    reader.at += 2;
    skipExpression(reader, { closer: "]", quoted });
    return expand(reader, { word, start, what: "an arithmetic expansion" });
  }
  const [name = ""] = /^(\w+|[@*#?$!-]|[~=^+]+\w+)/.exec(reader.text.slice(reader.at + 1, reader.at + 100)) ?? [];
  reader.at += 1 + name.length;
  if (name !== "") return expand(reader, { word, start, what: "a variable" });
  if (after === '"' && !quoted) markUnclear(reader, "it has a translated string");
  else word.pieces.push("$");
}

function readSubstitution(reader: Reader, word: OpenWord): void {
  const start = reader.at;
  if (peek(reader, 2) === "(" && skipArithmetic(reader, 3)) {
    return expand(reader, { word, start, what: "an arithmetic expansion" });
  }
  reader.at += 2;
  nested(reader, () => reader.readList(reader, ")"));
  expand(reader, { word, start, what: "a command substitution" });
}

/** Skips an arithmetic expression up to `))`. Returns false and does not move if the text is not one. */
export function skipArithmetic(reader: Reader, length: number): boolean {
  const { at, parts } = reader;
  const before = parts.length;
  const closed = { value: false };
  reader.at += length;
  deeper(reader.budget, () => {
    closed.value = skipExpression(reader, { closer: ")", quoted: false });
  });
  if (closed.value && peek(reader) === ")") {
    reader.at += 1;
    return true;
  }
  parts.length = before;
  reader.at = at;
  return false;
}

interface Expression {
  readonly closer: ")" | "]" | "}";
  readonly quoted: boolean;
}

/** Skips to the closing character, which is consumed, and reads the substitutions before it. */
function skipExpression(reader: Reader, { closer, quoted }: Expression): boolean {
  const ignored: OpenWord = { pieces: [], literal: true, quoted: false, hasBrace: false };
  let open = 0;
  while (!hasEnded(reader)) {
    const next = peek(reader);
    if (next === closer && open === 0) {
      reader.at += 1;
      return true;
    }
    if (next === "$") readDollar(reader, { word: ignored, quoted });
    else if (next === "`") readBackticks(reader, { word: ignored, quoted });
    else if (next === "'" && !quoted) readSingleQuotes(reader, ignored);
    else if (next === '"') {
      reader.at += 1;
      readDoubleQuotes(reader, ignored);
    } else {
      if (closer === ")" && next === "(") open += 1;
      if (closer === ")" && next === ")") open -= 1;
      reader.at += next === "\\" ? 2 : 1;
    }
  }
  return false;
}

function readBraces(reader: Reader, { word, quoted }: Expansion): void {
  const start = reader.at;
  reader.at += 2;
  // Bash 5.3 and ksh run the commands in `${ command; }` and `${|command;}`.
  if (/[\s|]/.test(peek(reader))) {
    if (peek(reader) === "|") reader.at += 1;
    nested(reader, () => reader.readList(reader, "}"));
  } else {
    deeper(reader.budget, () => {
      if (!skipExpression(reader, { closer: "}", quoted })) failUnclosed(reader, "parameter expansion");
    });
  }
  expand(reader, { word, start, what: "a variable" });
}

function readAnsiQuotes(reader: Reader, word: OpenWord): void {
  const start = reader.at + 2;
  let end = start;
  while (end < reader.text.length && reader.text.charAt(end) !== "'") end += reader.text.charAt(end) === "\\" ? 2 : 1;
  reader.budget.steps += end - start;
  const content = reader.text.slice(start, end);
  if (end >= reader.text.length) failUnclosed(reader, "quote");
  else reader.at = end + 1;
  word.quoted = true;
  if (content.includes("\\")) {
    word.literal = false;
    markUnclear(reader, "it has a string with escapes");
  }
  word.pieces.push(decodeEscapes(content));
}

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  "\\": "\\",
  "'": "'",
  '"': '"',
  e: "\x1b",
};

/** Decodes the common escapes, so that a rule can deny the command they spell. */
const decodeEscapes = (content: string): string =>
  content.replaceAll(/\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|([0-7]{1,3})|(.))/gis, (whole, hex, wide, octal, other) => {
    const code = octal === undefined ? Number.parseInt(hex ?? wide ?? "", 16) : Number.parseInt(octal, 8);
    return Number.isNaN(code) ? (escapes[other] ?? whole) : String.fromCharCode(code);
  });

function readBackticks(reader: Reader, { word, quoted }: Expansion): void {
  const start = reader.at;
  let end = start + 1;
  while (end < reader.text.length && reader.text.charAt(end) !== "`") end += reader.text.charAt(end) === "\\" ? 2 : 1;
  reader.budget.steps += end - start;
  const inner = reader.text.slice(start + 1, end).replaceAll(quoted ? /\\([$`\\"])/g : /\\([$`\\])/g, "$1");
  nested(reader, () => reader.readList({ ...reader, text: inner, at: 0, heredocs: [], openCases: 0 }, null));
  reader.at = end + 1;
  if (end >= reader.text.length) failUnclosed(reader, "backtick");
  expand(reader, { word, start, what: "a command substitution" });
}

/** Reads the expansions in a text as in double quotes, but with quotes as ordinary characters. */
export function readExpansions(reader: Reader, text: string): void {
  if (!/[$`]/.test(text)) return;
  const inner: Reader = { ...reader, text, at: 0, heredocs: [], openCases: 0 };
  const ignored: OpenWord = { pieces: [], literal: true, quoted: true, hasBrace: false };
  while (!hasEnded(inner)) readQuotedPiece(inner, { word: ignored, next: peek(inner) });
}
