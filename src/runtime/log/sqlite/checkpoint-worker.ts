/** The thread that checkpoints the -wal file of a busy log (checkpointer.ts), with a connection of its own. */
import { statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { checkpointWal } from "./checkpoint.ts";
import { openDatabase } from "./database.ts";
import { WAL_KEPT_BYTES } from "./schema.ts";

/** A -wal file that is cut keeps others from writing meanwhile; one that is read by others is left for another time. */
const PATIENCE_MS = 20;

const { file }: { readonly file: string } = workerData;
const database = openDatabase(file);
database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);

parentPort?.on("message", (asked: "checkpoint" | "close") => {
  if (asked === "checkpoint") {
    checkpoint();
    parentPort?.postMessage("done");
    return;
  }
  database.close();
  parentPort?.close();
});

/**
 * Without a pause in what is written the -wal file would only grow: what the first checkpoint moves is most of it, and
 * the second has little left to move when it cuts the file.
 */
function checkpoint(): void {
  checkpointWal(database, "PASSIVE");
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes >= WAL_KEPT_BYTES) checkpointWal(database, "TRUNCATE");
}
