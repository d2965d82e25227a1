/** The checksum of a stored group: over its bytes and over the range that it says it holds. */
import { crc32 } from "node:zlib";
import { blob, type Database, integer, type Row } from "./database.ts";

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

/** Rows summed at a time. */
const AT_ONCE = 100;

/** For groups that were stored before there were checksums. */
export function sumStored(database: Database): void {
  for (const [table, key] of [
    ["groups", "position"],
    ["native", "key"],
  ]) {
    const select = database.prepare(
      `SELECT ${key} AS place, first, last, body FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${AT_ONCE}`,
    );
    const update = database.prepare(`UPDATE ${table} SET checksum = ? WHERE ${key} = ?`);
    for (let rows = select.all(0); rows.length > 0; rows = select.all(integer(rows.at(-1) ?? {}, "place"))) {
      for (const row of rows) {
        const summed = { first: integer(row, "first"), last: integer(row, "last"), bytes: blob(row, "body") };
        update.run(checksum(summed), integer(row, "place"));
      }
    }
  }
}
