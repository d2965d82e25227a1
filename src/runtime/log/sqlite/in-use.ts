/**
 * Whether a process has the log open. SQLite holds locks on the file and on its -shm file for as long; where the system
 * lists no locks, the daemon's lock has to be enough.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { holderOf } from "../../daemon/lock.ts";

const LOCKS = "/proc/locks";

/** Number of times that this process has each file open. */
const openHere = new Map<string, number>();

/** Counts an open file. Call the returned function when the file is closed. */
export function noteOpen(file: string): () => void {
  const path = resolve(file);
  openHere.set(path, (openHere.get(path) ?? 0) + 1);
  return () => {
    const left = (openHere.get(path) ?? 1) - 1;
    if (left > 0) openHere.set(path, left);
    else openHere.delete(path);
  };
}

export function isInUse(file: string): boolean {
  if (openHere.has(resolve(file))) return true;
  const holder = holderOf(dirname(file));
  if (holder !== null && holder.pid !== process.pid) return true;
  const locked = lockedElsewhere();
  return [file, `${file}-shm`].some((path) => locked.has(nameOf(path)));
}

/** Files with locks of other processes, as in `1: POSIX ADVISORY READ 4711 fe:00:2146433 128 128`. */
function lockedElsewhere(): ReadonlySet<string> {
  try {
    const lines = readFileSync(LOCKS, "utf8").matchAll(/ (\d+) (\w+:\w+:\d+) /g);
    return new Set([...lines].flatMap(([, pid, name = ""]) => (Number(pid) === process.pid ? [] : [name])));
  } catch {
    return new Set();
  }
}

/** Device and inode, as they are listed there. */
function nameOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  if (found === undefined) return "";
  const major = ((found.dev >> 8n) & 0xfffn) | ((found.dev >> 32n) & ~0xfffn);
  const minor = (found.dev & 0xffn) | ((found.dev >> 12n) & ~0xffn);
  return `${hex(major)}:${hex(minor)}:${found.ino}`;
}

const hex = (value: bigint): string => value.toString(16).padStart(2, "0");
