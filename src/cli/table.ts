/** Lists for people: columns as wide as what is in them. Scripts use `--json`. */
import { visible } from "../core/visible.ts";

export function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map((cell) => visible(cell).replaceAll("\n", " ")));
  const widths: number[] = [];
  for (const row of shown) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${shown.map(line).join("\n")}\n`;
}

export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
