/** The checksum of a stored group: over its bytes and over the range that it says it holds. */
import { crc32 } from "node:zlib";
import { blob, integer, type Row } from "./rows.ts";

export interface Summed {
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

export const checksum = ({ first, last, bytes }: Summed): number => crc32(bytes, crc32(`${first}-${last}`));

/** Whether a row (`first`, `last`, `body`, `checksum`) is as it was written. */
export const isWhole = (row: Row): boolean =>
  integer(row, "checksum") ===
  checksum({ first: integer(row, "first"), last: integer(row, "last"), bytes: blob(row, "body") });
