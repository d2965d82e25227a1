/**
 * Bytes → lines. Splits on the byte "\n" alone: U+2028 and a bare CR are legal inside JSON and stay in their line.
 * Incomplete lines are kept as a list of parts, so a very long line costs its length once and not its square.
 */

/** The longest line that is kept. Beyond it the line is reported and dropped, and the stream goes on. */
export const LINE_LIMIT = 32 * 1024 * 1024;

/** What unfinished lines may hold together. The line that takes more is reported and dropped. */
export interface LineBudget {
  readonly limit: number;
  held: number;
}

/** For all connections of the process. */
const processBudget: LineBudget = { limit: 128 * 1024 * 1024, held: 0 };
/** How much of an overlong line is kept to show what it was. */
const EXCERPT_BYTES = 1024;
const NEWLINE = 10;

export interface OverlongLine {
  /** How it began. */
  readonly excerpt: string;
  /** How long it was in all. */
  readonly bytes: number;
  readonly number: number;
  /** Which bound it broke, in bytes. */
  readonly limit: number;
}

export interface TextOptions {
  /** Complete lines with "\n" between them, as many as have arrived. */
  readonly onText: (text: string) => void;
  readonly onOverlong: (line: Omit<OverlongLine, "number">) => void;
  readonly limit?: number;
  readonly budget?: LineBudget;
}

export interface LineOptions extends Pick<TextOptions, "limit" | "budget"> {
  /** `number` counts the lines of the stream from 1, empty ones too. */
  readonly onLine: (line: string, number: number) => void;
  readonly onOverlong: (line: OverlongLine) => void;
  /** Blank lines say nothing, unless they end something. */
  readonly keepBlank?: boolean;
}

export interface LineSplitter {
  readonly push: (chunk: Buffer) => void;
  /** The stream is over: what stands there without a newline is a line too. */
  readonly end: () => void;
  /** The stream broke off: what stands there is dropped. */
  readonly drop: () => void;
}

export function splitLines({ onLine, onOverlong, keepBlank = false, ...bounds }: LineOptions): LineSplitter {
  let count = 0;
  return splitText({
    ...bounds,
    onText(text) {
      for (const line of text.split("\n")) {
        count += 1;
        if (keepBlank || line.trim() !== "") onLine(line, count);
      }
    },
    onOverlong(line) {
      count += 1;
      onOverlong({ ...line, number: count });
    },
  });
}

/** The same without splitting complete lines from each other. */
export function splitText(options: TextOptions): LineSplitter {
  const { onText, onOverlong, limit = LINE_LIMIT, budget = processBudget } = options;
  const unfinished = holdLine({ limit, budget });

  const finish = (): void => {
    const line = unfinished.take();
    if (line === null) return;
    if (typeof line === "string") onText(line);
    else onOverlong(line);
  };

  return {
    push(chunk) {
      const first = chunk.indexOf(NEWLINE);
      if (first < 0) return unfinished.add(chunk);
      let start = 0;
      if (unfinished.isOpen()) {
        unfinished.add(chunk.subarray(0, first));
        finish();
        start = first + 1;
      }
      const last = chunk.lastIndexOf(NEWLINE);
      // Decoding all complete lines at once is faster than one by one; a broken character never eats a newline.
      if (last >= start) onText(chunk.toString("utf8", start, last));
      unfinished.add(chunk.subarray(last + 1));
    },
    end: finish,
    drop: () => void unfinished.take(),
  };
}

interface UnfinishedLine {
  readonly isOpen: () => boolean;
  readonly add: (part: Buffer) => void;
  /** The line, or what is left of it when it broke a bound; null when there is none. It holds nothing afterwards. */
  readonly take: () => string | Omit<OverlongLine, "number"> | null;
}

function holdLine({ limit, budget }: { limit: number; budget: LineBudget }): UnfinishedLine {
  let parts: Buffer[] = [];
  let pending = 0;
  /** Set while the rest of an overlong line passes by. */
  let overlong: { readonly excerpt: string; readonly limit: number; bytes: number } | null = null;

  const release = (): void => {
    budget.held -= pending;
    parts = [];
    pending = 0;
  };

  return {
    isOpen: () => pending > 0 || overlong !== null,
    add(part) {
      if (part.length === 0) return;
      if (overlong !== null) {
        overlong.bytes += part.length;
        return;
      }
      parts.push(part);
      pending += part.length;
      budget.held += part.length;
      if (pending <= limit && budget.held <= budget.limit) return;
      const excerpt = Buffer.concat(parts, Math.min(EXCERPT_BYTES, pending)).toString("utf8");
      overlong = { excerpt, limit: pending > limit ? limit : budget.limit, bytes: pending };
      release();
    },
    take() {
      const dropped = overlong;
      overlong = null;
      if (dropped !== null || pending === 0) return dropped;
      const text = parts.length === 1 ? (parts[0]?.toString("utf8") ?? "") : Buffer.concat(parts).toString("utf8");
      release();
      return text;
    },
  };
}
