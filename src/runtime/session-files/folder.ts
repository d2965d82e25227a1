/**
 * An agent's own folder, read-only. Nothing in it is trusted: links are not followed, files of other users and what is
 * no regular file are left alone, sizes are bounded, and no path leads out of it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { type AgentFolder, type FolderEntry, SessionFileError, type SqlRow } from "../../core/session-files.ts";
import { processTable } from "../agent/process-table.ts";
import { isInside } from "../confine.ts";
import { type ForeignDatabase, openForeign } from "./foreign-database.ts";

/** Larger files are refused: a conversation is read as a whole. */
const FILE_LIMIT = 256 * 1024 * 1024;
/** More entries than this in one folder are not looked at. */
const ENTRIES_LIMIT = 100_000;
const ROWS_LIMIT = 500_000;

export interface OpenFolder extends AgentFolder {
  /** Databases are closed. */
  close(): void;
}

/** Null when there is no such folder, or it belongs to somebody else. */
export function openAgentFolder(path: string): OpenFolder | null {
  const root = rootOf(path);
  if (root === null) return null;
  const places = new Map<string, string | null>();
  const databases = new Map<string, ForeignDatabase | null>();
  const placeOf = (relative: string): string | null => {
    const cut = relative.lastIndexOf("/");
    const parent = cut < 0 ? "" : relative.slice(0, cut);
    let real = places.get(parent);
    if (real === undefined) {
      real = realFolder(root, parent);
      places.set(parent, real);
    }
    const name = relative.slice(cut + 1);
    return real === null || !isName(name) ? null : join(real, name);
  };
  return {
    list: (relative) => entriesOf(relative === "" ? root : placeOf(relative)),
    facts(relative) {
      const stats = ownFile(placeOf(relative));
      return stats === null ? null : { size: stats.size, modifiedAt: Math.trunc(stats.mtimeMs) };
    },
    head: (relative, bytes) => withFile(placeOf(relative), (file) => part(file, { from: 0, bytes })),
    tail: (relative, bytes) =>
      withFile(placeOf(relative), (file) => part(file, { from: Math.max(0, file.size - bytes), bytes })),
    text: (relative) => withFile(placeOf(relative), (file) => whole(file, relative)),
    rows: (relative, sql, values = []) => rowsOf({ path: placeOf(relative), databases, sql, values }),
    isAlive: (pid, startedAt) => isAlive(pid, startedAt),
    lockHolder: (relative) => lockHolder(placeOf(relative)),
    close() {
      for (const opened of databases.values()) opened?.close();
      databases.clear();
    },
  };
}

/** The folder itself may be a link: people keep their settings elsewhere. */
function rootOf(path: string): string | null {
  try {
    const root = realpathSync(path);
    const stats = lstatSync(root);
    return stats.isDirectory() && isOwn(stats) ? root : null;
  } catch {
    return null;
  }
}

const isName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !name.includes("\0");

function realFolder(root: string, relative: string): string | null {
  if (relative === "") return root;
  if (!relative.split("/").every(isName)) return null;
  try {
    const path = join(root, relative);
    const real = realpathSync(path);
    // A link on the way, even one that stays inside, names something twice: it is not followed.
    return real === path && isInside({ directory: root, path: real }) && lstatSync(real).isDirectory() ? real : null;
  } catch {
    return null;
  }
}

const owner = process.getuid?.() ?? null;

/** Root may read everybody's files, and must not do it for others. */
const isOwn = ({ uid }: Stats): boolean => owner === null || uid === owner;

function ownFile(path: string | null): Stats | null {
  if (path === null) return null;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && isOwn(stats) ? stats : null;
}

function entriesOf(path: string | null): readonly FolderEntry[] {
  if (path === null) return [];
  try {
    return readdirSync(path, { withFileTypes: true })
      .slice(0, ENTRIES_LIMIT)
      .flatMap((entry): FolderEntry[] => {
        if (entry.isFile()) return [{ name: entry.name, kind: "file" }];
        return entry.isDirectory() ? [{ name: entry.name, kind: "folder" }] : [];
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    return [];
  }
}

interface OpenFile {
  readonly handle: number;
  readonly size: number;
}

/** A pipe or a device would block: what was opened is looked at again before anything is read. */
function withFile(path: string | null, read: (file: OpenFile) => string): string | null {
  if (path === null) return null;
  let handle: number;
  try {
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(handle);
    return stats.isFile() && isOwn(stats) ? read({ handle, size: stats.size }) : null;
  } finally {
    closeSync(handle);
  }
}

const CONTINUATION = 0b1000_0000;

function part({ handle, size }: OpenFile, { from, bytes }: { from: number; bytes: number }): string {
  const buffer = Buffer.alloc(Math.min(bytes, size - from));
  const filled = fill(handle, buffer, from);
  let start = 0;
  while (from > 0 && start < Math.min(3, filled) && ((buffer[start] ?? 0) & 0b1100_0000) === CONTINUATION) start += 1;
  return buffer.toString("utf8", start, filled);
}

/** As much as there was when it was opened: an agent may be writing. */
function fill(handle: number, buffer: Buffer, from: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const read = readSync(handle, buffer, filled, buffer.length - filled, from + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}

function whole(file: OpenFile, name: string): string {
  const limit = `${FILE_LIMIT / 1024 / 1024} MiB`;
  if (file.size > FILE_LIMIT) throw new SessionFileError(`${name} is larger than ${limit}.`);
  const buffer = Buffer.alloc(file.size);
  const bytes = buffer.subarray(0, fill(file.handle, buffer, 0));
  if (!name.endsWith(".zst")) return bytes.toString("utf8");
  const unpack: unknown = Reflect.get(zlib, "zstdDecompressSync");
  if (typeof unpack !== "function") {
    throw new SessionFileError(`${name} is compressed: Node 22.15 or later is needed to read it.`);
  }
  try {
    return String(unpack(bytes, { maxOutputLength: FILE_LIMIT }));
  } catch (error) {
    throw new SessionFileError(`${name} is damaged, or larger than ${limit} when it is unpacked.`, { cause: error });
  }
}

interface Query {
  readonly path: string | null;
  readonly databases: Map<string, ForeignDatabase | null>;
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

function rowsOf({ path, databases, sql, values }: Query): readonly SqlRow[] | null {
  if (path === null || ownFile(path) === null) return null;
  let opened = databases.get(path);
  if (opened === undefined) {
    opened = openForeign(path);
    databases.set(path, opened);
  }
  if (opened === null) return null;
  const { database } = opened;
  const rows: SqlRow[] = [];
  try {
    for (const row of database.prepare(sql).iterate(...values)) {
      rows.push({ ...row });
      if (rows.length >= ROWS_LIMIT) break;
    }
  } catch {
    return null;
  }
  return rows;
}

function isAlive(pid: number, startedAt: string | undefined): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  const started = processTable.startOf(pid);
  if (started === null) return false;
  return startedAt === undefined || !/^\d+$/.test(startedAt) || started.endsWith(`-${startedAt}`);
}

/** The kernel's table of locks, where there is one: by the inode, which is unique enough with the process at hand. */
function lockHolder(path: string | null): { readonly pid: number } | null {
  const stats = ownFile(path);
  if (stats === null) return null;
  let table: string;
  try {
    table = readFileSync("/proc/locks", "utf8");
  } catch {
    return null;
  }
  for (const line of table.split("\n")) {
    const fields = line.split(/\s+/);
    const place = fields.findIndex((field) => /^[0-9a-f]+:[0-9a-f]+:\d+$/.test(field));
    if (place < 1 || Number(fields[place]?.split(":")[2]) !== stats.ino) continue;
    const pid = Number(fields[place - 1]);
    if (pid > 0) return { pid };
  }
  return null;
}
