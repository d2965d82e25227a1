/** Checksums for groups that were stored before there were any. */
import { checksum } from "../checksum.ts";
import { blob, integer } from "../rows.ts";
import type { Database } from "./database.ts";

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
