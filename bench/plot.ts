/** A bar chart as SVG, readable on light and dark pages. */

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  /** Whether its target is reached; null without one. */
  readonly good: boolean | null;
}

interface Chart {
  readonly title: string;
  readonly bars: readonly Bar[];
  /** A value to mark with a line. */
  readonly line: number | null;
}

const ROW = 22;
const HEAD = 34;
const LABELS = 400;
const WIDTH = 420;
const TEXTS = 230;
const COLOURS = { good: "#3a7d5c", bad: "#b5493a", plain: "#7a8290" } as const;

export function barChart({ title, bars, line }: Chart): string {
  const most = Math.max(line ?? 0, ...bars.map(({ value }) => value), Number.MIN_VALUE);
  const scale = (value: number): number => (value / most) * WIDTH;
  const height = HEAD + bars.length * ROW + 8;
  const rows = bars.map(({ label, value, text, good }, index) => {
    const y = HEAD + index * ROW;
    const colour = good === null ? COLOURS.plain : good ? COLOURS.good : COLOURS.bad;
    const width = Math.max(1, scale(value)).toFixed(1);
    return [
      `<text x="${LABELS - 8}" y="${y + 14}" text-anchor="end">${escaped(label)}</text>`,
      `<rect x="${LABELS}" y="${y + 3}" width="${width}" height="${ROW - 7}" rx="2" fill="${colour}"/>`,
      `<text x="${(LABELS + Number(width) + 6).toFixed(1)}" y="${y + 14}">${escaped(text)}</text>`,
    ].join("");
  });
  const at = (LABELS + scale(line ?? 0)).toFixed(1);
  const mark =
    line === null
      ? ""
      : `<line x1="${at}" x2="${at}" y1="${HEAD - 4}" y2="${height - 4}" stroke="#7a8290" stroke-dasharray="3 3"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LABELS + WIDTH + TEXTS} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    "<style>text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600;font-size:14px}",
    "@media (prefers-color-scheme: dark){text{fill:#b6bec8}}</style>",
    `<text class="title" x="8" y="20">${escaped(title)}</text>`,
    ...rows,
    mark,
    "</svg>\n",
  ].join("\n");
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
