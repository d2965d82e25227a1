/**
 * Markdown → terminal, while it is being written: words appear as soon as they are whole, tables as soon as they are
 * complete. Headings, lists, quotes, code and tables are recognised; everything else stays as it is.
 */

import { inlineText, type Word } from "./markdown-inline.ts";
import { cellsOf, tableLines } from "./markdown-table.ts";
import type { Paint } from "./style.ts";

export interface MarkdownText {
  /** What can be shown now. */
  readonly push: (text: string) => string;
  /** The rest; the next text begins on a new line. */
  readonly end: () => string;
}

export interface MarkdownOptions {
  readonly paint: Paint;
  /** Columns of the terminal. */
  readonly width: number;
}

interface State {
  /** Of the line being written, what has not been shown. */
  rest: string;
  /** Whether the line has been begun on the screen: then the rest of it is inline text. */
  inline: boolean;
  /** The fence that ends the code block; null outside one. */
  fence: string | null;
  table: string[];
  column: number;
  /** Under the text of a list entry or a quote, lines that wrap begin here. */
  indent: string;
}

export function openMarkdown({ paint, width }: MarkdownOptions): MarkdownText {
  const state: State = { rest: "", inline: false, fence: null, table: [], column: 0, indent: "" };
  const inLine = (text: string): string => wrapped(state, inlineText(text, paint), width);
  const flushTable = (): string => {
    const rows = state.table;
    state.table = [];
    return rows.length === 0 ? "" : `${tableLines(rows, { paint, width }).join("\n")}\n`;
  };
  const startOf = (line: string): { head: string; text: string } | null => startsText(state, line, paint);
  const whole = (line: string): string => {
    if (state.inline) return endLine(state, inLine(line));
    if (state.fence !== null) return codeLine(state, line, paint);
    if (isTableRow(line)) {
      state.table.push(line);
      return "";
    }
    return `${flushTable()}${block({ state, line, paint, inLine, startOf })}`;
  };
  return {
    push(text) {
      // The part of a line that waits is not searched again: one line may come in very many pieces.
      const [first = "", ...more] = text.split("\n");
      if (more.length === 0 && !state.inline && (state.fence !== null || state.rest.length > MAX_START)) {
        state.rest += first;
        return "";
      }
      const rest = more.pop();
      let out = "";
      if (rest !== undefined) for (const line of [state.rest + first, ...more]) out += whole(line);
      state.rest = rest ?? state.rest + first;
      return out + partial({ state, flushTable, inLine, startOf });
    },
    end() {
      const { rest } = state;
      state.rest = "";
      const out = rest === "" && !state.inline ? "" : whole(rest);
      const table = flushTable();
      state.fence = null;
      return out + table;
    },
  };
}

interface Partial {
  readonly state: State;
  readonly flushTable: () => string;
  readonly inLine: (text: string) => string;
  readonly startOf: (line: string) => { readonly head: string; readonly text: string } | null;
}

/** Of a line that is not complete, the words that are: only where it is sure what kind of line it is. */
function partial({ state, flushTable, inLine, startOf }: Partial): string {
  let out = "";
  if (!state.inline) {
    if (state.fence !== null || state.rest.length < MIN_START) return "";
    const start = startOf(state.rest);
    if (start === null) return "";
    out = flushTable() + start.head;
    state.inline = true;
    state.rest = start.text;
  }
  const end = safeEnd(state.rest);
  out += inLine(state.rest.slice(0, end));
  state.rest = state.rest.slice(end);
  return out;
}

/** From so many characters on the kind of a line is known. */
const MIN_START = 6;
/** From this many characters on, the kind of a line that is still unknown is found at its end. */
const MAX_START = 1_000;

const ENTRY = /^(\s*)([-*+]|\d{1,3}[.)])\s+(?=\S)/;
const QUOTE = /^\s{0,3}>\s?/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*)$/s;
const RULE = /^\s{0,3}([-*_])\s*(?:\1\s*){2,}$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*(\S*)/;

/** How a line of running text begins; null for every other kind of line, and while that is not sure. */
function startsText(state: State, line: string, paint: Paint): { head: string; text: string } | null {
  const entry = ENTRY.exec(line);
  if (entry !== null && !RULE.test(line)) {
    const [all, space = "", marker = ""] = entry;
    const shown = /^\d/.test(marker) ? marker : "•";
    state.indent = `${space}${" ".repeat(shown.length + 1)}`;
    state.column = state.indent.length;
    return { head: `${space}${paint.cyan(shown)} `, text: line.slice(all.length) };
  }
  const quote = QUOTE.exec(line);
  if (quote !== null) {
    state.indent = "  ";
    state.column = 2;
    return { head: paint.dim("│ "), text: line.slice(quote[0].length) };
  }
  if (
    !/^\s{0,8}[\p{L}\p{Extended_Pictographic}"'(“‘*_`[\d]/u.test(line) ||
    /^(`{3}|~{3}|\d{1,3}[.)]?$|[*_\s]*$)/.test(line.trimStart())
  )
    return null;
  const space = /^\s*/.exec(line)?.[0] ?? "";
  state.indent = space;
  state.column = space.length;
  return { head: space, text: line.slice(space.length) };
}

interface Block extends Omit<Partial, "flushTable"> {
  readonly line: string;
  readonly paint: Paint;
}

function block({ state, line, paint, inLine, startOf }: Block): string {
  const fence = FENCE.exec(line);
  if (fence?.[1] !== undefined) {
    state.fence = fence[1];
    return fence[2] === "" ? "" : `  ${paint.dim(fence[2] ?? "")}\n`;
  }
  const heading = HEADING.exec(line);
  if (heading?.[2] !== undefined) {
    const level = heading[1]?.length ?? 1;
    const title = withoutClosing(heading[2]);
    return `${level <= 2 ? paint.bold(paint.cyan(title)) : paint.bold(title)}\n`;
  }
  if (RULE.test(line)) return `${paint.dim("─".repeat(RULE_WIDTH))}\n`;
  const start = startOf(line);
  if (start === null) return `${line}\n`;
  state.inline = true;
  return endLine(state, start.head + inLine(start.text));
}

/** A heading may end in `#`, which is not part of it. */
function withoutClosing(heading: string): string {
  const text = heading.trimEnd();
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trimEnd();
}

const RULE_WIDTH = 40;

function codeLine(state: State, line: string, paint: Paint): string {
  if (line.trim().startsWith(state.fence ?? "") && line.trim().replaceAll(/[`~]/g, "") === "") {
    state.fence = null;
    return "";
  }
  return `  ${paint.green(line)}\n`;
}

function endLine(state: State, text: string): string {
  state.inline = false;
  state.column = 0;
  state.indent = "";
  return `${text}\n`;
}

const isTableRow = (line: string): boolean => line.trim().startsWith("|") && cellsOf(line).length > 0;

/** Maximum number of characters that wait for the end of bold text, code or a link. */
const MAX_HELD = 4_000;

/** Up to the last space that is not inside bold text, code or a link. */
function safeEnd(text: string): number {
  const open = { bold: false, code: false, bracket: false, round: false };
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "`") open.code = !open.code;
    else if (character === "[") open.bracket = true;
    else if (character === ")") open.round = false;
    else if (character === "]") {
      open.bracket = false;
      if (text[at + 1] === "(") open.round = true;
    } else if (character === "*" && text[at + 1] === "*") {
      open.bold = !open.bold;
      at += 1;
    } else if (character === " " && !(open.bold || open.code || open.bracket || open.round)) end = at + 1;
  }
  return end === 0 && text.length > MAX_HELD ? text.length : end;
}

function wrapped(state: State, words: readonly Word[], width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const { shown, width: size } of words) {
    if (state.column + size > width + 1 && state.column > state.indent.length) {
      lines.push(line.trimEnd());
      line = state.indent;
      state.column = state.indent.length;
    }
    line += shown;
    state.column += size;
  }
  return [...lines, line].join("\n");
}
