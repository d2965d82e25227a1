/** The thread that checkpoints the -wal file of a busy log (checkpointer.ts), with a connection of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { integer } from "../rows.ts";
import type { Asked, Checkpointed } from "./checkpointer.ts";
import { openDatabase } from "./database.ts";

/** A -wal file that is cut keeps others from writing meanwhile; one that is read by others is left for another time. */
const PATIENCE_MS = 20;

const { file }: { readonly file: string } = workerData;
const database = openDatabase(file);
database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);

parentPort?.on("message", (asked: Asked) => {
  if (asked === "close") {
    database.close();
    parentPort?.close();
  } else parentPort?.postMessage(checkpoint(asked));
});

function checkpoint(how: "PASSIVE" | "TRUNCATE"): Checkpointed {
  try {
    const row = database.prepare(`PRAGMA wal_checkpoint(${how})`).get() ?? {};
    return { pages: integer(row, "log"), moved: integer(row, "checkpointed") };
  } catch {
    // What is in the -wal file is stored just as well: it is left to the next checkpoint.
    return { pages: 0, moved: 0 };
  }
}
