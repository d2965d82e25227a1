/**
 * Bytes → lines. Splits on the byte "\n" alone: U+2028 and a bare CR are legal inside JSON and stay in their line.
 * Incomplete lines are kept as a list of parts or in one large piece, so a very long line costs its length and not its
 * square.
 */

/** The longest line that is kept. Beyond it the line is reported and dropped, and the stream goes on. */
export const LINE_LIMIT = 32 * 1024 * 1024;

/** What unfinished lines may hold together. The line that takes more is reported and dropped. */
export interface LineBudget {
  readonly limit: number;
  held: number;
}

/** Maximum total size of the unfinished lines of all connections of the process. */
const ALL_LINES_LIMIT = 128 * 1024 * 1024;
const processBudget: LineBudget = { limit: ALL_LINES_LIMIT, held: 0 };
/**
 * From this on, an unfinished line is held in one piece of memory with room for the longest. The system lends only what
 * is written of it, and has it back as a whole; of parts, the allocator keeps what lies between others.
 */
const ONE_PIECE_BYTES = 1024 * 1024;
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
  let whole: Buffer | null = null;
  let pending = 0;
  /** Set while the rest of an overlong line passes by. */
  let overlong: { readonly excerpt: string; readonly limit: number; bytes: number } | null = null;

  const release = (): void => {
    budget.held -= pending;
    parts = [];
    whole = null;
    pending = 0;
  };
  const keep = (part: Buffer): void => {
    // A copy: the reader overwrites the chunk with the next one.
    if (whole === null) parts.push(Buffer.from(part));
    else part.copy(whole, pending);
    pending += part.length;
    if (whole !== null || pending <= ONE_PIECE_BYTES) return;
    whole = Buffer.allocUnsafeSlow(limit);
    let at = 0;
    for (const one of parts) at += one.copy(whole, at);
    parts = [];
  };
  const start = (bytes: number): Buffer =>
    whole === null ? Buffer.concat(parts, Math.min(bytes, pending)) : whole.subarray(0, Math.min(bytes, pending));

  return {
    isOpen: () => pending > 0 || overlong !== null,
    add(part) {
      if (part.length === 0) return;
      if (overlong !== null) {
        overlong.bytes += part.length;
        return;
      }
      const bytes = pending + part.length;
      if (bytes <= limit && budget.held + part.length <= budget.limit) {
        budget.held += part.length;
        return keep(part);
      }
      const excerpt = Buffer.concat([start(EXCERPT_BYTES), part.subarray(0, EXCERPT_BYTES)]);
      overlong = {
        excerpt: excerpt.toString("utf8", 0, Math.min(EXCERPT_BYTES, excerpt.length)),
        limit: bytes > limit ? limit : budget.limit,
        bytes,
      };
      release();
    },
    take() {
      const dropped = overlong;
      overlong = null;
      if (dropped !== null || pending === 0) return dropped;
      const text = parts.length === 1 ? (parts[0]?.toString("utf8") ?? "") : start(pending).toString("utf8");
      release();
      return text;
    },
  };
}
