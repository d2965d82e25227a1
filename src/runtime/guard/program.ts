/**
 * The guard: a process of its own that outlives its owner by seconds. It reads from a pipe which process trees the
 * owner has started. The pipe closes when the owner is gone, however it died; what still runs then is ended. It is
 * ended too when an owner that must renew its right to run agents does not, because it hangs or was stopped.
 */
import { createInterface } from "node:readline";
import { removeLaunchFiles } from "../agent/launch-files.ts";
import { endTree, SWEEP_LADDER } from "../agent/process-tree.ts";
import { applyLine, type GuardedRuns, parseLine } from "./lines.ts";

// Its end is the end of the pipe: a signal that ends the owner must not end the guard before its work is done.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const runs: GuardedRuns = new Map();
let deadline: NodeJS.Timeout | undefined;
const lines = createInterface({ input: process.stdin });
// A broken pipe also means that the owner has ended.
lines.on("error", () => lines.close());
for await (const text of lines) {
  const line = parseLine(text);
  if (line === null) continue;
  applyLine(runs, line);
  if (line.type !== "renewed") continue;
  clearTimeout(deadline);
  deadline = setTimeout(() => endAll().catch(() => {}), line.forMs);
}
await endAll();
process.exit();

async function endAll(): Promise<void> {
  await Promise.all(
    [...runs].map(async ([runId, leader]) => {
      removeLaunchFiles(runId);
      await endTree({ runId, leader, ours: true }, SWEEP_LADDER);
    }),
  );
}
