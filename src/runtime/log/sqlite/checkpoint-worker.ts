/** The thread that checkpoints the -wal file of a busy log (checkpointer.ts), with a connection of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { checkpointWal } from "./checkpoint.ts";
import { openDatabase } from "./database.ts";

const { file }: { readonly file: string } = workerData;
const database = openDatabase(file);

parentPort?.on("message", (asked: "checkpoint" | "close") => {
  if (asked === "checkpoint") {
    checkpointWal(database, "PASSIVE");
    parentPort?.postMessage("done");
    return;
  }
  database.close();
  parentPort?.close();
});
