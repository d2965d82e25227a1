/**
 * Reads the -shm file, in which SQLite records the length of the -wal file after every commit. It stays when a process
 * is killed and is exact until the machine restarts, so it shows whether the end of a -wal file is missing.
 */
import { endianness } from "node:os";
import { checksum } from "./wal.ts";

const HEADER_BYTES = 48;
const SUMMED_BYTES = 40;
const VERSION = 3_007_000;

export interface WalIndex {
  /** In hexadecimal; null when there were none yet. */
  readonly salts: string | null;
  /** Number of frames up to the last commit. */
  readonly frames: number;
  /** Number of these frames that were copied into the database file. */
  readonly moved: number;
}

/** Null when it cannot be read: then nothing is known about the -wal file. */
export function readWalIndex(bytes: Buffer): WalIndex | null {
  const isBig = endianness() === "BE";
  const number = (at: number): number => (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
  // There are two copies: a process may be killed while it writes one of them.
  for (const start of [0, HEADER_BYTES]) {
    if (bytes.length < 2 * HEADER_BYTES + 4) return null;
    const [first, second] = checksum(bytes.subarray(start, start + SUMMED_BYTES), [0, 0], isBig);
    if (number(start) !== VERSION || bytes[start + 12] !== 1) continue;
    if (number(start + SUMMED_BYTES) !== first || number(start + SUMMED_BYTES + 4) !== second) continue;
    const salts = bytes.toString("hex", start + 32, start + 40);
    return {
      salts: /^0+$/.test(salts) ? null : salts,
      frames: number(start + 16),
      moved: Math.min(number(2 * HEADER_BYTES), number(start + 16)),
    };
  }
  return null;
}
