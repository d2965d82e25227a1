/** Lanes for a terminal: columns as wide as it allows, a bar where the session is busy. */
import pc from "picocolors";
import type { LaneRow } from "../core/lanes.ts";

const titles = ["native", "universal", "OpenCode", "Takopi", "why"];
/** Shares of the width, in the order of the titles. */
const shares = [20, 26, 28, 20, 14];
const GAP = "  ";
const BAR = "┃";

export function drawText({
  rows,
  width,
  color,
}: {
  readonly rows: readonly LaneRow[];
  readonly width: number;
  readonly color: boolean;
}): string {
  const paint = pc.createColors(color);
  const numbers = String(rows.reduce((most, { line }) => Math.max(most, line ?? 0), 0)).length;
  const room = width - numbers - 3 - GAP.length * titles.length;
  const total = shares.reduce((sum, share) => sum + share, 0);
  const widths = shares.map((share) => Math.max(6, Math.floor((room * share) / total)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => fitted(cell, widths[index] ?? 0))
      .join(GAP)
      .trimEnd();
  const head = `${" ".repeat(numbers)}   ${line(titles)}`;
  const body = rows.map((row) => {
    const number = row.native === "" || row.line === null ? "" : String(row.line);
    const [native = "", universal = "", openCode = "", takopi = "", why = ""] = cellsOf(row).map((cell, index) =>
      fitted(cell, widths[index] ?? 0),
    );
    const edge = /session\.(status|idle)/.test(openCode);
    return [
      `${paint.dim(number.padStart(numbers))} ${row.busy ? paint.yellow(BAR) : " "} ${paint.cyan(native)}`,
      universal,
      edge ? paint.bold(paint.yellow(openCode)) : paint.green(openCode),
      paint.magenta(takopi),
      paint.dim(why),
    ]
      .join(GAP)
      .trimEnd();
  });
  return `${[paint.bold(head), paint.dim("─".repeat(Math.min(width, visible(head, widths)))), ...body].join("\n")}\n`;
}

const cellsOf = ({ native, universal, cells, why }: LaneRow): readonly string[] => [native, universal, ...cells, why];

const visible = (head: string, widths: readonly number[]): number =>
  Math.max(
    head.length,
    widths.reduce((sum, one) => sum + one + GAP.length, 0),
  );

function fitted(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= width ? line.padEnd(width) : `${line.slice(0, width - 1)}…`;
}
