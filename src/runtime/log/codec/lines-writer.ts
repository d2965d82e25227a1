/** Lines put together as bytes: each is encoded once, where it will stand, and not as part of one long text first. */

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
const FIRST_BYTES = 16 * 1024;
/** A room that a very long line has made larger than this is given back. */
const KEPT_BYTES = 2 * 1024 * 1024;
/** UTF-8 takes at most this many bytes for one unit of a string; long texts are measured instead. */
const WIDEST = 3;
const LONG_TEXT = 64 * 1024;
/** Up to this length a text is looked at letter by letter: calls cost more. */
const SHORT_TEXT = 64;
/** The digits of the largest whole number there is. */
const MOST_DIGITS = 16;

/** Memory that is used again and again, by writers of which only one is at work. */
export interface Room {
  buffer: Buffer;
}

export const makeRoom = (): Room => ({ buffer: Buffer.allocUnsafe(FIRST_BYTES) });

/** Puts a line down piece by piece. */
export interface LinesWriter {
  readonly text: (text: string) => void;
  /** A text as JSON has it, in quotes. */
  readonly literal: (text: string) => void;
  /** A whole number, not negative. */
  readonly integer: (value: number) => void;
  readonly endLine: () => void;
  readonly size: () => number;
  /** All that was put down, in memory of its own; nothing can be added after that. */
  readonly finish: () => Buffer;
}

export function openLinesWriter(room: Room): LinesWriter {
  let at = 0;
  const reserve = (length: number): void => {
    if (at + length > room.buffer.length) grow(room, { needed: at + length, used: at });
  };
  const write = (text: string): void => {
    reserve(text.length > LONG_TEXT ? Buffer.byteLength(text, "utf8") : text.length * WIDEST);
    at += room.buffer.write(text, at, "utf8");
  };
  return {
    text: write,
    literal(text) {
      reserve(SHORT_TEXT + 2);
      const end = text.length > SHORT_TEXT ? -1 : putPlain(room.buffer, { at, text });
      if (end < 0) write(JSON.stringify(text));
      else at = end;
    },
    integer(value) {
      reserve(MOST_DIGITS);
      at = putInteger(room.buffer, { at, value });
    },
    endLine() {
      reserve(1);
      room.buffer[at] = NEWLINE;
      at += 1;
    },
    size: () => at,
    finish: () => copyOut(room, at),
  };
}

/** Writes the digits without making a text of them; gives the place behind. */
export function putInteger(bytes: Uint8Array, { at, value }: { at: number; value: number }): number {
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

/** Puts a text in quotes that needs no escapes and is ASCII, and gives the place behind; -1 when it is not so plain. */
function putPlain(bytes: Uint8Array, { at, text }: { at: number; text: string }): number {
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

/** What was put down, in memory of its own. */
export function copyOut(room: Room, length: number): Buffer {
  const bytes = Buffer.from(room.buffer.subarray(0, length));
  if (room.buffer.length > KEPT_BYTES) room.buffer = Buffer.allocUnsafe(FIRST_BYTES);
  return bytes;
}

export function grow(room: Room, { needed, used }: { needed: number; used: number }): void {
  const buffer = Buffer.allocUnsafe(Math.max(needed, room.buffer.length * 2));
  room.buffer.copy(buffer, 0, 0, used);
  room.buffer = buffer;
}
