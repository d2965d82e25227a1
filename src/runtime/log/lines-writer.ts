/** Lines put together as bytes: each is encoded once, where it will stand, and not as part of one long text first. */

const NEWLINE = 0x0a;
const FIRST_BYTES = 16 * 1024;
/** A room that a very long line has made larger than this is given back. */
const KEPT_BYTES = 2 * 1024 * 1024;
/** UTF-8 takes at most this many bytes for one unit of a string; long lines are measured instead. */
const WIDEST = 3;
const LONG_LINE = 64 * 1024;

/** Memory that is used again and again, by writers of which only one is at work. */
export interface Room {
  buffer: Buffer;
}

export const makeRoom = (): Room => ({ buffer: Buffer.allocUnsafe(FIRST_BYTES) });

export interface LinesWriter {
  /** A line without its end, which is put behind it. */
  readonly add: (line: string) => void;
  readonly size: () => number;
  /** All that was added, in memory of its own; nothing can be added after that. */
  readonly finish: () => Buffer;
}

export function openLinesWriter(room: Room): LinesWriter {
  let at = 0;
  return {
    add(line) {
      const most = line.length > LONG_LINE ? Buffer.byteLength(line, "utf8") : line.length * WIDEST;
      if (at + most + 1 > room.buffer.length) grow(room, { needed: at + most + 1, used: at });
      at += room.buffer.write(line, at, "utf8");
      room.buffer[at] = NEWLINE;
      at += 1;
    },
    size: () => at,
    finish() {
      const bytes = Buffer.from(room.buffer.subarray(0, at));
      if (room.buffer.length > KEPT_BYTES) room.buffer = Buffer.allocUnsafe(FIRST_BYTES);
      return bytes;
    },
  };
}

function grow(room: Room, { needed, used }: { needed: number; used: number }): void {
  const buffer = Buffer.allocUnsafe(Math.max(needed, room.buffer.length * 2));
  room.buffer.copy(buffer, 0, 0, used);
  room.buffer = buffer;
}
