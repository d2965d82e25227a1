/** Lines of JSON in a file that its agent may still be writing: the last one counts only when it is whole. */
import { isTooDeep } from "./json.ts";

/** Longer lines are not parsed. */
const LINE_LIMIT = 16 * 1024 * 1024;
/** How many sentences about unreadable lines are kept. */
const SENTENCES = 5;

export interface FileLine {
  readonly number: number;
  readonly value: unknown;
}

export interface FileLines {
  readonly lines: readonly FileLine[];
  /** What could not be read, in a sentence each; the first few. */
  readonly unread: readonly string[];
}

export interface FileLinesOptions {
  /** Lines that need no parsing, by their text. */
  readonly skips?: (line: string) => boolean;
  /** No line after this one is needed. */
  readonly until?: (value: unknown) => boolean;
}

export function readFileLines(text: string, { skips, until }: FileLinesOptions = {}): FileLines {
  const lines: FileLine[] = [];
  const unread: string[] = [];
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    number += 1;
    if (end > start) {
      const line = text.slice(start, end);
      const read = skips?.(line) === true ? null : parsed(line);
      if (read !== null && "value" in read) {
        lines.push({ number, value: read.value });
        if (until?.(read.value) === true) break;
      }
      // Without its newline the last line may be half written: the next reading will have it.
      else if (read !== null && newline >= 0) unread.push(`Line ${number} ${read.error}.`);
    }
    start = end + 1;
  }
  return { lines, unread: unread.slice(0, SENTENCES) };
}

function parsed(line: string): { readonly value: unknown } | { readonly error: string } | null {
  if (line.trim() === "") return null;
  if (line.length > LINE_LIMIT) return { error: `is longer than ${LINE_LIMIT} characters` };
  if (isTooDeep(line)) return { error: "is nested too deeply" };
  try {
    return { value: JSON.parse(line) };
  } catch {
    return { error: "is not JSON" };
  }
}
