/** One daemon per data folder: a lock file with its process and address. The lock of a dead process is replaced. */
import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import { isAlive, ownProcess } from "../agent/process-table.ts";
import { openDataFolder } from "../data-folder.ts";
import { storageError } from "../log/sqlite/database.ts";

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
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (create(file, { ...own, url: "", token: true })) return held(file, own);
    const other = read(file);
    if (other !== null && isAlive(other)) throw lockedBy(folder, other);
    deleteDead(file, other);
  }
  throw new ApiError("storage_error", `${file} could not be taken: remove it if no Franca daemon runs on ${folder}.`);
}

/** The daemon that listens for this folder, or null. */
export async function daemonOf(folder: string): Promise<DaemonInfo | null> {
  const info = read(join(folder, LOCK_FILE));
  return info !== null && info.url !== "" && isAlive(info) ? info : null;
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

/** A hard link tests and locks in one operation: exactly one process succeeds, and nobody reads half a file. */
function create(file: string, info: DaemonInfo): boolean {
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify(info), { mode: 0o600 });
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw storageError(file, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

function replace(file: string, info: DaemonInfo): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(info), { mode: 0o600 });
  renameSync(draft, file);
}

/** Only the lock that was found dead: one that another process has just created in its place stays. */
function deleteDead(file: string, dead: DaemonInfo | null): void {
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
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(guard, { force: true });
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
