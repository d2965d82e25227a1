/** Markdown tables for the terminal: columns as wide as their cells, as far as the screen allows. */
import { inlineText, type Word } from "./markdown-inline.ts";
import type { Paint } from "./style.ts";

const GAP = 2;
const MIN_COLUMN = 6;

/** The cells of one row; none when the line is no row of a table. */
export function cellsOf(line: string): string[] {
  const text = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return text.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const isDivider = (row: readonly string[]): boolean => row.every((cell) => /^:?-+:?$/.test(cell));

export function tableLines(lines: readonly string[], { paint, width }: { paint: Paint; width: number }): string[] {
  const rows = lines.map(cellsOf);
  const hasHead = rows[1] !== undefined && isDivider(rows[1]);
  const shown = rows.filter((row) => !isDivider(row));
  const widths = narrowed(columnWidths(shown), width);
  return shown.flatMap((row, index) => {
    if (!hasHead || index > 0) return rowLines(row, { widths, paint });
    const rule = paint.dim(widths.map((size) => "─".repeat(size)).join(" ".repeat(GAP)));
    return [...rowLines(row, { widths, paint: PLAIN }).map(paint.bold), rule];
  });
}

const same = (text: string): string => text;
const PLAIN: Paint = { dim: same, bold: same, red: same, green: same, yellow: same, cyan: same };

const widthOf = (words: readonly Word[]): number => words.reduce((sum, { width }) => sum + width, 0);

function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, widthOf(inlineText(cell, PLAIN)));
    }
  }
  return widths;
}

/** The widest columns give way until the row fits. */
function narrowed(widths: readonly number[], available: number): number[] {
  const out = [...widths];
  const used = (): number => out.reduce((sum, size) => sum + size, 0) + GAP * (out.length - 1);
  while (used() > available && Math.max(...out) > MIN_COLUMN) {
    out[out.indexOf(Math.max(...out))] = Math.max(...out) - 1;
  }
  return out;
}

/** A cell that is wider than its column takes several lines: nothing is cut off. */
function rowLines(row: readonly string[], { widths, paint }: { widths: readonly number[]; paint: Paint }): string[] {
  const columns = widths.map((size, column) => folded(inlineText(row[column] ?? "", paint), size));
  const height = Math.max(1, ...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map((lines, column) => padded(lines[line] ?? [], widths[column] ?? 0))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
}

function folded(words: readonly Word[], size: number): Word[][] {
  const lines: Word[][] = [[]];
  for (const word of words) {
    const line = lines.at(-1) ?? [];
    // The space at a word's end may stand beyond the edge.
    if (line.length > 0 && widthOf(line) + word.width > size + 1) lines.push([word]);
    else line.push(word);
  }
  return lines;
}

const padded = (words: readonly Word[], size: number): string =>
  `${words.map(({ shown }) => shown).join("")}${" ".repeat(Math.max(0, size - widthOf(words)))}`;
