/**
 * A text that grows, cut into blocks. A block that is complete never changes again, so it is parsed and drawn once,
 * and the next words cost as much at the end of a long answer as at its beginning. The cuts are where Markdown ends a
 * block anyway; only texts without such places (very long lines, lists, tables) are cut elsewhere.
 */
export type TextBlock = MarkdownBlock | CodeBlock;

export interface MarkdownBlock {
  readonly type: "markdown";
  readonly text: string;
  /** It continues the block before it: no space between them. */
  readonly joined: boolean;
}

export interface CodeBlock {
  readonly type: "code";
  readonly language: string;
  /** Together the code; all but the last are complete. */
  readonly pieces: readonly string[];
}

interface Fence {
  readonly mark: string;
  readonly language: string;
  readonly pieces: string[];
  /** It was opened inside another block, so the line that closes it may be indented. */
  readonly isIndented: boolean;
}

/** What is known of a text so far. Belongs to `cut`, which changes it in place. */
export interface Cutter {
  text: string;
  readonly done: TextBlock[];
  /** Link targets that are defined somewhere in the text, up to `MAX_DEFINITIONS` characters. */
  definitions: string;
  /** Where the open block begins. */
  from: number;
  /** Where the first line begins that is not read yet. */
  read: number;
  joined: boolean;
  /** The fence that the open block is. */
  fence: Fence | null;
  /** A fence inside the open block, in a list for example. */
  inner: string | null;
  wasBlank: boolean;
  /** The line that is read next was cut: its beginning says nothing. */
  isCut: boolean;
  /** Head of the table that the open block ends with. */
  table: string;
  /** Head of the table that the open block continues. */
  head: string;
}

/** Smaller blocks are not worth a cut. */
const SMALL = 400;
/** A list is cut between two items, code between two lines, and a line between two words, after so many characters. */
const PIECE = 4_000;
/** Whatever it is, it is cut. */
const LONGEST = 16_000;
/** Maximum number of characters of link targets: they are parsed again with each block that has a link. */
const MAX_DEFINITIONS = 8_000;

export const openCutter = (): Cutter => ({
  text: "",
  done: [],
  definitions: "",
  from: 0,
  read: 0,
  joined: false,
  fence: null,
  inner: null,
  wasBlank: false,
  isCut: false,
  table: "",
  head: "",
});

/** Comparing the whole of a long text with every delta would cost more than all the rest. */
const COMPARED = 64;

function isMore(before: string, { text, isStreaming }: Growing): boolean {
  if (text === before) return true;
  return isStreaming ? text.endsWith(before.slice(-COMPARED), before.length) : text.startsWith(before);
}

export interface Growing {
  readonly text: string;
  /** It only grows, so that its beginning need not be read again. */
  readonly isStreaming: boolean;
}

/** Reads what the text has more than the last time, and gives the block that is still open; null where none is. */
export function cut(cutter: Cutter, { text, isStreaming }: Growing): TextBlock | null {
  if (text.length < cutter.text.length || !isMore(cutter.text, { text, isStreaming })) {
    Object.assign(cutter, openCutter());
  }
  cutter.text = text;
  for (let end = text.indexOf("\n", cutter.read); end !== -1; end = text.indexOf("\n", cutter.read)) {
    cutLine(cutter, end);
    readLine(cutter, text.slice(cutter.read, end));
    cutter.read = end + 1;
  }
  cutLine(cutter, text.length);
  return openBlock(cutter);
}

function openBlock({ text, from, fence, joined, head }: Cutter): TextBlock | null {
  const rest = text.slice(from);
  if (fence !== null) return { type: "code", language: fence.language, pieces: [...fence.pieces, rest] };
  return rest.trim() === "" ? null : { type: "markdown", text: `${head}${rest}`, joined };
}

/** A line that grows without end, as of an agent that writes no paragraphs. */
function cutLine(cutter: Cutter, end: number): void {
  const longest = cutter.fence === null ? PIECE : LONGEST;
  if (cutter.inner !== null && end - cutter.from > LONGEST) cutInner(cutter, cutter.inner);
  while (cutter.inner === null && end - cutter.read > longest) {
    if (cutter.read > cutter.from) closePart(cutter, cutter.read);
    const at = placeIn(cutter.text, cutter.from + longest);
    cutter.table = "";
    closePart(cutter, at);
    cutter.read = at;
    cutter.isCut = true;
  }
}

/** Code inside of a list or quote that is too long for one block becomes a block of its own. */
function cutInner(cutter: Cutter, mark: string): void {
  closeBlock(cutter, { at: cutter.read });
  cutter.inner = null;
  cutter.fence = { mark, language: "", pieces: [], isIndented: true };
}

function closePart(cutter: Cutter, at: number): void {
  if (cutter.fence === null) return closeBlock(cutter, { at, joined: !cutter.wasBlank });
  cutter.fence.pieces.push(cutter.text.slice(cutter.from, at));
  cutter.from = at;
}

/** After the last space before a place; never inside of a character. */
function placeIn(text: string, wanted: number): number {
  const near = wanted - PIECE / 2;
  const space = text.slice(near, wanted).lastIndexOf(" ");
  if (space !== -1) return near + space + 1;
  return /[\ud800-\udbff]/.test(text[wanted - 1] ?? "") ? wanted - 1 : wanted;
}

const FENCE = /^( *)(`{3,}|~{3,})(.*)$/;
const ITEM = /^(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s*\S/;
const RULE = /^[\s|:-]+$/;

/** Reads a whole line, which begins at `cutter.read`. */
function readLine(cutter: Cutter, line: string): void {
  const isCut = cutter.isCut;
  cutter.isCut = false;
  if (cutter.fence !== null) return readCode(cutter, { line: isCut ? "" : line, fence: cutter.fence });
  if (isCut) return;
  if (cutter.inner !== null) {
    if (closes(line.trim(), cutter.inner)) cutter.inner = null;
    return;
  }
  if (line.trim() === "") {
    cutter.wasBlank = true;
    cutter.table = "";
    return;
  }
  const fence = FENCE.exec(line);
  if (fence !== null && !(fence[3] ?? "").includes("`")) return openFence(cutter, fence);
  if (cutter.definitions.length + line.length < MAX_DEFINITIONS && DEFINITION.test(line)) {
    cutter.definitions += `${line}\n`;
  }
  const size = cutter.read - cutter.from;
  const isTop = !/^\s/.test(line);
  const isItem = ITEM.test(line);
  if (isTop && (isItem ? size >= PIECE : cutter.wasBlank && size >= SMALL)) closeBlock(cutter, { at: cutter.read });
  else if (size >= LONGEST) closeBlock(cutter, { at: cutter.read, joined: !cutter.wasBlank });
  noteTable(cutter, line);
  cutter.wasBlank = false;
}

/** A fence at the margin is a block; one that is indented belongs to the block around it. */
function openFence(cutter: Cutter, [, indent = "", mark = "", info = ""]: readonly string[]): void {
  cutter.wasBlank = false;
  if (indent !== "") {
    cutter.inner = mark;
    return;
  }
  closeBlock(cutter, { at: cutter.read });
  cutter.fence = { mark, language: info.trim(), pieces: [], isIndented: false };
  cutter.from = lineEnd(cutter);
}

function readCode(cutter: Cutter, { line, fence }: { readonly line: string; readonly fence: Fence }): void {
  if (!closes(fence.isIndented ? line.trim() : line.replace(/^ {0,3}/, ""), fence.mark)) {
    if (cutter.read - cutter.from >= PIECE) closePart(cutter, cutter.read);
    return;
  }
  const pieces = [...fence.pieces, cutter.text.slice(cutter.from, cutter.read)];
  cutter.done.push({ type: "code", language: fence.language, pieces });
  cutter.fence = null;
  cutter.from = lineEnd(cutter);
  cutter.joined = false;
  cutter.head = "";
  cutter.wasBlank = true;
}

const closes = (line: string, mark: string): boolean =>
  line.startsWith(mark) && line.replaceAll(mark[0] ?? "", "").trim() === "";

const lineEnd = ({ text, read }: Cutter): number => text.indexOf("\n", read) + 1;

interface Close {
  readonly at: number;
  /** Whether what follows continues it. */
  readonly joined?: boolean;
}

function closeBlock(cutter: Cutter, { at, joined = false }: Close): void {
  const { head, from } = cutter;
  const text = cutter.text.slice(from, at);
  if (text.trim() !== "") cutter.done.push({ type: "markdown", text: `${head}${text}`, joined: cutter.joined });
  cutter.from = at;
  cutter.joined = joined;
  if (!joined) cutter.table = "";
  cutter.head = cutter.table;
}

/** Rows that follow a cut need the head of their table again. */
function noteTable(cutter: Cutter, line: string): void {
  if (!line.includes("|")) cutter.table = "";
  else if (cutter.table === "" && line.includes("-") && RULE.test(line)) {
    const before = cutter.text.lastIndexOf("\n", cutter.read - 2) + 1;
    cutter.table = `${cutter.text.slice(before, cutter.read)}${line}\n`;
  }
}
