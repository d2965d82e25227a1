/**
 * One daemon per data folder: a lock file with its process and address. The lock of a dead process is replaced. On a
 * full disk its file is written over, which needs no room.
 */
import {
  closeSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import { isAlive, ownProcess } from "../agent/process-table.ts";
import { openDataFolder } from "../data-folder.ts";
import { storageError } from "../storage-error.ts";

const LOCK_FILE = "daemon.lock";
/** Several processes may find the same dead lock at once; each loses at most once to each of the others. */
const ATTEMPTS = 20;
/** Deleting a dead lock takes microseconds; a guard file older than this was left by a crash. */
const GUARD_MS = 2_000;

export interface DaemonInfo {
  readonly pid: number;
  readonly started: string;
  /** Empty until it listens. */
  readonly url: string;
  /** Whether clients need its token. */
  readonly token: boolean;
}

export interface DaemonLock {
  /** The daemon listens: clients can find it now. */
  readonly publish: (listening: Pick<DaemonInfo, "url" | "token">) => void;
  readonly release: () => void;
}

/** Throws `session_owned`, naming the daemon that holds the folder. */
export function lockDaemon(folder: string): DaemonLock {
  openDataFolder(folder);
  const file = join(folder, LOCK_FILE);
  const own = ownProcess();
  // Of a process with the same number that crashed: it may be the lock itself, by another name.
  rmSync(draftOf(file), { force: true });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (create(file, { ...own, url: "", token: true })) return held(file, own);
    const other = read(file);
    if (other !== null && isAlive(other)) throw lockedBy(folder, other);
    deleteDead(file, { dead: other, draft: draftOf(file) });
  }
  throw new ApiError("storage_error", `${file} could not be taken: remove it if no Franca daemon runs on ${folder}.`);
}

/** The daemon that listens for this folder, or null. */
export async function daemonOf(folder: string): Promise<DaemonInfo | null> {
  const info = holderOf(folder);
  return info !== null && info.url !== "" ? info : null;
}

/** The process that holds the lock, whether it listens or not. */
export function holderOf(folder: string): DaemonInfo | null {
  const info = read(join(folder, LOCK_FILE));
  return info !== null && isAlive(info) ? info : null;
}

function held(file: string, own: Omit<DaemonInfo, "url" | "token">): DaemonLock {
  return {
    publish: (listening) => replace(file, { ...own, ...listening }),
    release() {
      const info = read(file);
      if (info?.pid === own.pid && info.started === own.started) rmSync(file, { force: true });
    },
  };
}

const lockedBy = (folder: string, { pid, url }: DaemonInfo): ApiError =>
  new ApiError(
    "session_owned",
    `A Franca daemon runs on ${folder} already (process ${pid}${url === "" ? "" : `, ${url}`}): ` +
      "use that one, stop it, or choose another data folder.",
  );

const draftOf = (file: string): string => `${file}.${process.pid}`;

/** A hard link tests and locks in one operation: exactly one process succeeds, and nobody reads half a file. */
function create(file: string, info: DaemonInfo): boolean {
  const draft = draftOf(file);
  try {
    writeOver(draft, info);
    linkSync(draft, file);
    rmSync(draft, { force: true });
    return true;
  } catch (error) {
    if (hasSystemCode(error, "EEXIST")) {
      rmSync(draft, { force: true });
      return false;
    }
    // A dead lock is there to be written over: the next attempt has its room.
    const isUsable = isFull(error) && statSync(file, { throwIfNoEntry: false }) !== undefined;
    rmSync(draft, { force: true });
    if (isUsable) return false;
    throw storageError(file, error);
  }
}

function replace(file: string, info: DaemonInfo): void {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, JSON.stringify(info), { mode: 0o600 });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    if (!isFull(error)) throw error;
    // In one piece, and longer than before: readers see the former text or this one.
    writeOver(file, info);
  }
}

/** A file that exists keeps its room on the disk. */
function writeOver(file: string, info: DaemonInfo): void {
  const exists = statSync(file, { throwIfNoEntry: false }) !== undefined;
  const descriptor = openSync(file, exists ? "r+" : "w", 0o600);
  try {
    const length = writeSync(descriptor, JSON.stringify(info), 0);
    ftruncateSync(descriptor, length);
  } finally {
    closeSync(descriptor);
  }
}

const isFull = (error: unknown): boolean => hasSystemCode(error, "ENOSPC") || hasSystemCode(error, "EDQUOT");

const hasSystemCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;

interface DeadLock {
  readonly dead: DaemonInfo | null;
  /** Where its file goes, to be written over. */
  readonly draft: string;
}

/** Only the lock that was found dead: one that another process has just created in its place stays. */
function deleteDead(file: string, { dead, draft }: DeadLock): void {
  const guard = `${file}.taking`;
  try {
    closeSync(openSync(guard, "wx"));
  } catch {
    // Another process is deleting it, or crashed while it was.
    if (Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > GUARD_MS) {
      rmSync(guard, { force: true });
    }
    return;
  }
  try {
    const now = read(file);
    if (now === null || (dead !== null && now.pid === dead.pid && now.started === dead.started)) {
      moveAway(file, draft);
    }
  } finally {
    rmSync(guard, { force: true });
  }
}

function moveAway(file: string, draft: string): void {
  try {
    renameSync(file, draft);
  } catch (error) {
    if (!hasSystemCode(error, "ENOENT")) throw error;
  }
}

function read(file: string): DaemonInfo | null {
  try {
    const info: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isInfo(info) ? { ...info, token: info.token !== false } : null;
  } catch {
    return null;
  }
}

/** A daemon of an older version says nothing of tokens. */
type WrittenInfo = Omit<DaemonInfo, "token"> & { readonly token?: unknown };

const isInfo = (value: unknown): value is WrittenInfo =>
  typeof value === "object" &&
  value !== null &&
  "pid" in value &&
  typeof value.pid === "number" &&
  "started" in value &&
  typeof value.started === "string" &&
  "url" in value &&
  typeof value.url === "string";
