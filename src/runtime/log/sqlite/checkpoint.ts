/** A checkpoint of the -wal file: what was committed moves into the main file. Waits for the disk, twice. */
import type { Database } from "./database.ts";

/** Moves everything into the main file. With others reading, or no room, it is left to the next checkpoint. */
export function checkpointWal(database: Database, how: "PASSIVE" | "TRUNCATE"): void {
  try {
    database.exec(`PRAGMA wal_checkpoint(${how})`);
  } catch {
    // What is in the -wal file is stored just as well.
  }
}
