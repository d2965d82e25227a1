/** Undoes a salvage (salvage.ts) that a crash cut off, so that the next start begins it again with the same files. */
import { chmodSync, existsSync, linkSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** The names of a damaged log and of its report are the name of the log, this, a time, and for the report `REPORT`. */
export const DAMAGED = ".damaged-";
export const REPORT = ".json";

export function linkIfThere(from: string, to: string): void {
  if (!existsSync(from)) return;
  linkSync(from, to);
  chmodSync(to, 0o600);
}

/** A salvage that a crash cut off: the -wal file goes back to its place, and the rest is removed. */
export function undoUnfinished(file: string): void {
  const own = statSync(file, { throwIfNoEntry: false });
  if (own === undefined || own.nlink < 2) return;
  const start = `${basename(file)}${DAMAGED}`;
  for (const name of readdirSync(dirname(file)).filter((one) => one.startsWith(start))) {
    const kept = join(dirname(file), name);
    const { ino, dev } = statSync(kept);
    if (ino !== own.ino || dev !== own.dev) continue;
    if (!existsSync(`${file}-wal`)) linkIfThere(`${kept}-wal`, `${file}-wal`);
    for (const suffix of [REPORT, "-wal", ""]) rmSync(`${kept}${suffix}`, { force: true });
  }
}
