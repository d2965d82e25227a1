/**
 * Reads a -wal file without SQLite (sqlite.org/fileformat2.html#walformat). SQLite stops at the first frame that is
 * damaged and drops all later ones silently. Here every frame is checked by itself: its checksum continues from the
 * checksum stored in the frame before it, so frames behind a damaged one can still be verified.
 */
import { endianness } from "node:os";
import type { Read } from "./pages.ts";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The lowest bit is the byte order of the checksums: 1 for big-endian. */
const MAGIC = 0x377f0682;

export interface Wal {
  readonly pageSize: number;
  /** Two numbers that each frame repeats, in hexadecimal. They change whenever the file is reused from its start. */
  readonly salts: string;
  /** Every frame up to the last readable commit. */
  readonly frames: readonly WalFrame[];
  /** Number of frames that SQLite reads: up to the last commit before the first damaged frame. */
  readonly committed: number;
}

/** One frame; `page` is null when it is damaged. */
export interface WalFrame {
  readonly page: number | null;
  /** Where its page begins in the file. */
  readonly at: number;
  /** Size of the database in pages after this frame; 0 unless the frame ends a transaction. */
  readonly databasePages: number;
}

type Sum = readonly [number, number];

/** `pageSize` is used when the header is damaged. Null when there are no frames of a commit. */
export function readWal(read: Read, options: { readonly bytes: number; readonly pageSize: number }): Wal | null {
  const header = read(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return null;
  const magic = header.readUInt32BE(0);
  const isBig = (magic & 1) === 1;
  const isWhole = (magic & ~1) === MAGIC && isSum(checksum(header.subarray(0, 24), [0, 0], isBig), header, 24);
  const pageSize = isWhole ? header.readUInt32BE(8) : options.pageSize;
  const frameBytes = FRAME_HEADER_BYTES + pageSize;
  const count = Math.floor((options.bytes - HEADER_BYTES) / frameBytes);
  const frames: WalFrame[] = [];
  let salts = isWhole ? header.toString("hex", 16, 24) : null;
  let before = header.subarray(24, 32);
  let intact = isWhole ? Number.POSITIVE_INFINITY : 0;
  let lastCommit = 0;
  let committed = 0;
  for (let index = 0; index < count; index += 1) {
    const at = HEADER_BYTES + index * frameBytes;
    const frame = read(at, frameBytes);
    if (frame.length < frameBytes) break;
    const isVerified = isVerifiedAfter(before, frame, isBig);
    before = frame.subarray(16, 24);
    const own = frame.toString("hex", 8, 16);
    // Without a header, the first frame that can be verified names the salts: older frames are only behind it.
    if (salts === null && isVerified) salts = own;
    const isReadable = isVerified && own === salts;
    if (!isReadable) intact = Math.min(intact, index);
    const databasePages = isReadable ? frame.readUInt32BE(4) : 0;
    frames.push({ page: isReadable ? frame.readUInt32BE(0) : null, at: at + FRAME_HEADER_BYTES, databasePages });
    if (databasePages === 0) continue;
    lastCommit = index + 1;
    if (index < intact) committed = lastCommit;
  }
  if (salts === null) return null;
  return { pageSize, salts, frames: frames.slice(0, lastCommit), committed };
}

function isVerifiedAfter(before: Buffer, frame: Buffer, isBig: boolean): boolean {
  const start: Sum = [before.readUInt32BE(0), before.readUInt32BE(4)];
  const head = checksum(frame.subarray(0, 8), start, isBig);
  return isSum(checksum(frame.subarray(FRAME_HEADER_BYTES), head, isBig), frame, 16);
}

const isSum = ([first, second]: Sum, bytes: Buffer, at: number): boolean =>
  first === bytes.readUInt32BE(at) && second === bytes.readUInt32BE(at + 4);

/** SQLite's checksum of a multiple of 8 bytes, which begin at a multiple of 4 in memory. */
export function checksum(bytes: Buffer, start: Sum, isBig: boolean): Sum {
  const isNative = isBig === (endianness() === "BE");
  const source = isNative ? bytes : Buffer.from(bytes).swap32();
  const words = new Uint32Array(source.buffer, source.byteOffset, source.length / 4);
  let [first, second] = start;
  for (let index = 0; index < words.length; index += 2) {
    first = (first + (words[index] ?? 0) + second) | 0;
    second = (second + (words[index + 1] ?? 0) + first) | 0;
  }
  return [first >>> 0, second >>> 0];
}
