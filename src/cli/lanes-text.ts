/** Lanes for a terminal: columns as wide as it allows, a bar where the session is busy. */
import pc from "picocolors";
import type { Lane, LaneRow } from "../core/lanes.ts";

/** Shares of the width; the dialects between them have their own. */
const shares = { native: 20, universal: 26, why: 14 } as const;
/** The dialects' colours, again from the first where there are more of them. */
const colors = ["green", "magenta", "blue"] as const;
const GAP = "  ";
const BAR = "┃";

export function drawText({
  lanes,
  rows,
  width,
  color,
}: {
  readonly lanes: readonly Lane[];
  readonly rows: readonly LaneRow[];
  readonly width: number;
  readonly color: boolean;
}): string {
  const paint = pc.createColors(color);
  const titles = ["native", "universal", ...lanes.map(({ title }) => title), "why"];
  const parts = [shares.native, shares.universal, ...lanes.map(({ share }) => share), shares.why];
  const numbers = String(rows.reduce((most, { line }) => Math.max(most, line ?? 0), 0)).length;
  const room = width - numbers - 3 - GAP.length * titles.length;
  const total = parts.reduce((sum, share) => sum + share, 0);
  const widths = parts.map((share) => Math.max(6, Math.floor((room * share) / total)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => fitted(cell, widths[index] ?? 0))
      .join(GAP)
      .trimEnd();
  const head = `${" ".repeat(numbers)}   ${line(titles)}`;
  const body = rows.map((row) => {
    const number = row.native === "" || row.line === null ? "" : String(row.line);
    const cells = row.cells.map(({ text, isEdge }, index) => {
      const color = colors[index % colors.length] ?? "green";
      const cell = fitted(text, widths[index + 2] ?? 0);
      return isEdge ? paint.bold(paint.yellow(cell)) : paint[color](cell);
    });
    const native = paint.cyan(fitted(row.native, widths[0] ?? 0));
    return [
      `${paint.dim(number.padStart(numbers))} ${row.busy ? paint.yellow(BAR) : " "} ${native}`,
      fitted(row.universal, widths[1] ?? 0),
      ...cells,
      paint.dim(fitted(row.why, widths.at(-1) ?? 0)),
    ]
      .join(GAP)
      .trimEnd();
  });
  return `${[paint.bold(head), paint.dim("─".repeat(Math.min(width, visible(head, widths)))), ...body].join("\n")}\n`;
}

const visible = (head: string, widths: readonly number[]): number =>
  Math.max(
    head.length,
    widths.reduce((sum, one) => sum + one + GAP.length, 0),
  );

function fitted(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= width ? line.padEnd(width) : `${line.slice(0, width - 1)}…`;
}
