/** How text looks in a terminal: colours when wanted, and nothing in it that could command the terminal. */
import { visible } from "../../core/visible.ts";

export interface Paint {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

const painted =
  (open: number, close: number) =>
  (text: string): string =>
    text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`;

const same = (text: string): string => text;

export function paintFor({ color }: { color: boolean }): Paint {
  if (!color) return { dim: same, bold: same, red: same, green: same, yellow: same, cyan: same };
  return {
    dim: painted(2, 22),
    bold: painted(1, 22),
    red: painted(31, 39),
    green: painted(32, 39),
    yellow: painted(33, 39),
    cyan: painted(36, 39),
  };
}

// Everything a terminal would obey instead of show, but for tab and newline.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

export const clean = (text: string): string => text.replace(CONTROL, "");

/** One line of at most `width` characters. */
export function oneLine(text: string, { width }: { width: number }): string {
  const line = visible(text.replace(/\s+/g, " ").trim());
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}

const HEAD_LINES = 14;
const TAIL_LINES = 6;
const HEAD_WIDTH = 700;
const TAIL_WIDTH = 300;

/** A text for the record: hidden characters visible, and of a long one beginning and end, with how much is between. */
export function excerpt(text: string): string {
  const lines = visible(text).trim().split("\n").map(shortened);
  const skipped = lines.length - HEAD_LINES - TAIL_LINES;
  if (skipped <= 1) return lines.join("\n");
  return [...lines.slice(0, HEAD_LINES), `… ${skipped} lines …`, ...lines.slice(-TAIL_LINES)].join("\n");
}

function shortened(line: string): string {
  const skipped = line.length - HEAD_WIDTH - TAIL_WIDTH;
  if (skipped <= 0) return line;
  return `${line.slice(0, HEAD_WIDTH)}… ${skipped} characters …${line.slice(-TAIL_WIDTH)}`;
}
