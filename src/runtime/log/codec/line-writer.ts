/** Writes lines as bytes: each piece is encoded once, at its final place, never as part of one long string first. */

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
const FIRST_BYTES = 16 * 1024;
/** A scratch buffer that a very long line has made larger than this is dropped. */
const KEPT_BYTES = 2 * 1024 * 1024;
/** UTF-8 takes at most this many bytes for one unit of a string; long texts are measured instead. */
const WIDEST = 3;
const LONG_TEXT = 64 * 1024;
/** Up to this length a text is written letter by letter: a call costs more. */
const SHORT_TEXT = 64;
/** The same for bytes. */
const SHORT_BYTES = 48;
/** The digits of the largest whole number there is. */
const MOST_DIGITS = 16;

/** Memory that is used again and again, by one writer at a time. */
export interface Scratch {
  buffer: Buffer;
}

export const newScratch = (): Scratch => ({ buffer: Buffer.allocUnsafe(FIRST_BYTES) });

/**
 * One serves all groups, and so do the encoders that use it: the engine drops the machine code of functions that nobody
 * holds, and would compile those of a flood again and again.
 */
export interface LineWriter {
  /** Drops what was written. */
  readonly begin: () => void;
  readonly text: (text: string) => void;
  readonly bytes: (bytes: Uint8Array) => void;
  /** A text as JSON has it, in quotes. */
  readonly literal: (text: string) => void;
  /** A part of a text, as it is. */
  readonly copy: (source: string, start: number, end: number) => void;
  /** A single ASCII character. */
  readonly character: (code: number) => void;
  /** A whole number, not negative. */
  readonly integer: (value: number) => void;
  readonly endLine: () => void;
  readonly size: () => number;
  /** All that was written, in memory of its own. */
  readonly finish: () => Buffer;
}

export function openLineWriter(scratch: Scratch): LineWriter {
  let at = 0;
  const write = (text: string): void => {
    reserve(scratch, { at, length: text.length > LONG_TEXT ? Buffer.byteLength(text, "utf8") : text.length * WIDEST });
    at += scratch.buffer.write(text, at, "utf8");
  };
  return {
    begin() {
      at = 0;
    },
    text: write,
    bytes(bytes) {
      reserve(scratch, { at, length: bytes.length });
      at = writeBytes(scratch.buffer, at, bytes);
    },
    literal(text) {
      reserve(scratch, { at, length: SHORT_TEXT + 2 });
      const end = text.length > SHORT_TEXT ? -1 : writePlain(scratch.buffer, { at, text });
      if (end < 0) write(JSON.stringify(text));
      else at = end;
    },
    copy(source, start, end) {
      reserve(scratch, { at, length: SHORT_TEXT });
      const next = end - start > SHORT_TEXT ? -1 : writeAscii(scratch.buffer, { at, source, start, end });
      if (next < 0) write(source.slice(start, end));
      else at = next;
    },
    character(code) {
      reserve(scratch, { at, length: 1 });
      scratch.buffer[at] = code;
      at += 1;
    },
    integer(value) {
      reserve(scratch, { at, length: MOST_DIGITS });
      at = writeInteger(scratch.buffer, { at, value });
    },
    endLine() {
      reserve(scratch, { at, length: 1 });
      scratch.buffer[at] = NEWLINE;
      at += 1;
    },
    size: () => at,
    finish: () => copyOut(scratch, at),
  };
}

/** Returns the place behind. */
export function writeBytes(buffer: Uint8Array, from: number, bytes: Uint8Array): number {
  if (bytes.length > SHORT_BYTES) {
    buffer.set(bytes, from);
    return from + bytes.length;
  }
  let at = from;
  for (let index = 0; index < bytes.length; index += 1) buffer[at++] = bytes[index] ?? 0;
  return at;
}

/** Writes the digits without making a string of them; returns the place behind. */
export function writeInteger(bytes: Uint8Array, { at, value }: { at: number; value: number }): number {
  let length = 1;
  for (let bound = 10; bound <= value; bound *= 10) length += 1;
  let rest = value;
  for (let place = at + length - 1; place >= at; place -= 1) {
    const tenth = Math.floor(rest / 10);
    bytes[place] = ZERO + (rest - tenth * 10);
    rest = tenth;
  }
  return at + length;
}

/** Writes a text in quotes that needs no escapes and is ASCII, and returns the place behind; -1 for any other text. */
function writePlain(bytes: Uint8Array, { at, text }: { at: number; text: string }): number {
  let place = at;
  bytes[place++] = QUOTE;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < SPACE || unit >= DELETE || unit === QUOTE || unit === BACKSLASH) return -1;
    bytes[place++] = unit;
  }
  bytes[place++] = QUOTE;
  return place;
}

interface Piece {
  readonly at: number;
  readonly source: string;
  readonly start: number;
  readonly end: number;
}

/** Returns the place behind, or -1 for a text that is not ASCII. */
function writeAscii(bytes: Uint8Array, { at, source, start, end }: Piece): number {
  let place = at;
  for (let index = start; index < end; index += 1) {
    const unit = source.charCodeAt(index);
    if (unit > DELETE) return -1;
    bytes[place++] = unit;
  }
  return place;
}

/** What was written, in memory of its own. */
export function copyOut(scratch: Scratch, length: number): Buffer {
  const bytes = Buffer.from(scratch.buffer.subarray(0, length));
  if (scratch.buffer.length > KEPT_BYTES) scratch.buffer = Buffer.allocUnsafe(FIRST_BYTES);
  return bytes;
}

/** Makes sure that `length` bytes can be written at `at`. */
export function reserve(scratch: Scratch, { at, length }: { at: number; length: number }): void {
  const needed = at + length;
  if (needed <= scratch.buffer.length) return;
  const buffer = Buffer.allocUnsafe(Math.max(needed, scratch.buffer.length * 2));
  scratch.buffer.copy(buffer, 0, 0, at);
  scratch.buffer = buffer;
}
