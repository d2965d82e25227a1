/** Markdown tables for the terminal: columns as wide as their cells, as far as the screen allows. */
import { inlineText, type Word } from "./markdown-inline.ts";
import type { Paint } from "./style.ts";

const GAP = 2;
const MIN_COLUMN = 6;
/** Maximum number of columns; lines with more are printed as they are. */
const MAX_COLUMNS = 100;

/** The cells of one row; none when the line is no row of a table. */
export function cellsOf(line: string): string[] {
  const text = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return text.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const isDivider = (row: readonly string[]): boolean => row.every((cell) => /^:?-+:?$/.test(cell));

export function tableLines(lines: readonly string[], { paint, width }: { paint: Paint; width: number }): string[] {
  const rows = lines.map(cellsOf);
  if (rows.some(({ length }) => length > MAX_COLUMNS)) return [...lines];
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

/** Narrows the widest columns until the row fits; of equally wide columns, the first ones. */
function narrowed(widths: readonly number[], available: number): number[] {
  const room = available - GAP * (widths.length - 1);
  const used = (limit: number): number => widths.reduce((sum, size) => sum + Math.min(size, limit), 0);
  // No column needs to be wider than the available width, which bounds the number of steps.
  let limit = Math.max(MIN_COLUMN, Math.min(Math.max(...widths), room));
  while (used(limit) > room && limit > MIN_COLUMN) limit -= 1;
  let left = Math.max(0, room - used(limit));
  return widths
    .toReversed()
    .map((size) => {
      if (size <= limit || left === 0) return Math.min(size, limit);
      left -= 1;
      return limit + 1;
    })
    .reverse();
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
