/** Times as events have them. Events come many to a second: only the digits that change are printed, or read. */
import { codesOf } from "./hash.ts";

const SECOND = 1_000;
const ZERO = 48;
const EPOCH = "1970-01-01T00:00:00.000Z";
/** Where the milliseconds stand in a time of four digits to the year. */
const MS_AT = EPOCH.length - "000Z".length;

/** The second that was printed last; another one is printed anew. */
export interface TimePrinter {
  second: number;
  codes: number[];
}

export const startPrinter = (): TimePrinter => ({ second: 0, codes: codesOf(EPOCH) });

/** As `toISOString` prints it. */
export function printTime(printer: TimePrinter, at: number): string {
  const second = Math.floor(at / SECOND);
  if (second !== printer.second || printer.codes.length !== EPOCH.length) {
    const text = new Date(at).toISOString();
    printer.second = second;
    printer.codes = codesOf(text);
    return text;
  }
  const { codes } = printer;
  const ms = Math.trunc(at) - second * SECOND;
  codes[MS_AT] = ZERO + Math.trunc(ms / 100);
  codes[MS_AT + 1] = ZERO + (Math.trunc(ms / 10) % 10);
  codes[MS_AT + 2] = ZERO + (ms % 10);
  return String.fromCharCode(...codes);
}

/** The time that was read last. */
export interface TimeReader {
  text: string;
  ms: number;
}

export const startReader = (): TimeReader => ({ text: "", ms: 0 });

/** As `Date.parse` reads it; the events of one line have one time. */
export function readTime(reader: TimeReader, text: string): number {
  if (text === reader.text) return reader.ms;
  reader.text = text;
  reader.ms = Date.parse(text);
  return reader.ms;
}
