/**
 * Bytes → lines. Splits on the byte "\n" alone: U+2028 and a bare CR are legal inside JSON and stay in their line.
 * Incomplete lines are kept as a list of parts, so a very long line costs its length once and not its square.
 */

/** The longest line that is kept. Beyond it the line is reported and dropped, and the stream goes on. */
export const LINE_LIMIT = 64 * 1024 * 1024;
/** How much of an overlong line is kept to show what it was. */
const EXCERPT_BYTES = 1024;
const NEWLINE = 10;

export interface OverlongLine {
  /** How it began. */
  readonly excerpt: string;
  /** How long it was in all. */
  readonly bytes: number;
  readonly number: number;
}

export interface LineOptions {
  /** `number` counts the lines of the stream from 1, empty ones too. */
  readonly onLine: (line: string, number: number) => void;
  readonly onOverlong: (line: OverlongLine) => void;
  readonly limit?: number;
  /** Blank lines say nothing, unless they end something. */
  readonly keepBlank?: boolean;
}

export interface LineSplitter {
  readonly push: (chunk: Buffer) => void;
  /** The stream is over: what stands there without a newline is a line too. */
  readonly end: () => void;
}

export function splitLines(options: LineOptions): LineSplitter {
  const { onLine, onOverlong, limit = LINE_LIMIT, keepBlank = false } = options;
  let parts: Buffer[] = [];
  let pending = 0;
  let count = 0;
  /** Set while the rest of an overlong line passes by. */
  let overlong: { readonly excerpt: string; bytes: number } | null = null;

  const keep = (part: Buffer): void => {
    if (part.length === 0) return;
    if (overlong !== null) {
      overlong.bytes += part.length;
      return;
    }
    parts.push(part);
    pending += part.length;
    if (pending <= limit) return;
    overlong = { excerpt: Buffer.concat(parts, Math.min(EXCERPT_BYTES, pending)).toString("utf8"), bytes: pending };
    parts = [];
    pending = 0;
  };

  const finish = (): void => {
    if (overlong !== null) {
      count += 1;
      onOverlong({ ...overlong, number: count });
      overlong = null;
      return;
    }
    if (pending === 0) return;
    const text = parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)).toString("utf8") : Buffer.concat(parts).toString();
    parts = [];
    pending = 0;
    say(text);
  };

  const say = (line: string): void => {
    count += 1;
    if (keepBlank || line.trim() !== "") onLine(line, count);
  };

  return {
    push(chunk) {
      const first = chunk.indexOf(NEWLINE);
      if (first < 0) return keep(chunk);
      let start = 0;
      if (pending > 0 || overlong !== null) {
        keep(chunk.subarray(0, first));
        finish();
        start = first + 1;
      }
      const last = chunk.lastIndexOf(NEWLINE);
      // Decoding all complete lines at once is faster than one by one; a broken character never eats a newline.
      if (last >= start) for (const line of chunk.toString("utf8", start, last).split("\n")) say(line);
      keep(chunk.subarray(last + 1));
    },
    end: finish,
  };
}
