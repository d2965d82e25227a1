/**
 * The files of a log as they are on the disk, read without SQLite before it opens them. SQLite drops whatever follows a
 * damaged frame of a -wal file without an error, and its next checkpoint makes that final.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { uptime } from "node:os";
import {
  headerProblem,
  looksLikeLog,
  openPages,
  type PageFile,
  pageSizeIn,
  pagesNamedIn,
  type Read,
} from "./file-format/pages.ts";
import { readWal, type Wal } from "./file-format/wal.ts";
import { readWalIndex, type WalIndex } from "./file-format/wal-index.ts";
import { isInUse } from "./in-use.ts";
import { APPLICATION_ID, malformed, PAGE_BYTES } from "./schema.ts";
import { undoUnfinished } from "./unfinished-salvage.ts";

export interface LogFiles {
  readonly pages: PageFile;
  /** Description of damage that SQLite does not detect or cannot handle; null if there is none. */
  readonly problem: string | null;
  /** Whether commits of the -wal file are lost that may have been acknowledged. */
  readonly hasLostCommits: boolean;
}

/**
 * Throws what SQLite would for a damaged file, before SQLite drops what it cannot read. Files in use are left alone:
 * SQLite reads the -wal file only once, for the first process that opens it.
 */
export function refuseDamagedFiles(file: string): void {
  if (isInUse(file)) return;
  undoUnfinished(file);
  const problem = withLogFiles(file, (files) => files.problem);
  if (problem !== null) throw malformed(problem);
}

/** This process must not have the log open: closing a file drops all its locks on that file. */
export function withLogFiles<T>(file: string, work: (files: LogFiles) => T): T {
  const opened: number[] = [];
  const open = (path: string): Source => {
    const descriptor = openIfThere(path);
    if (descriptor === null) return { read: () => Buffer.alloc(0), bytes: 0, changedAt: 0 };
    opened.push(descriptor);
    const { size, mtimeMs } = fstatSync(descriptor);
    return { read: (from, bytes) => readAt(descriptor, { from, bytes }), bytes: size, changedAt: mtimeMs };
  };
  try {
    // The index first: a -wal file only grows while it is being written.
    const index = indexIn(open(`${file}-shm`));
    return work(inspect({ main: open(file), wal: open(`${file}-wal`), index }));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

interface Source {
  readonly read: Read;
  readonly bytes: number;
  /** In epoch milliseconds. */
  readonly changedAt: number;
}

const INDEX_BYTES = 136;

/** The file may be incomplete after a system crash, so it is ignored if it is older than the last boot. */
function indexIn({ read, bytes, changedAt }: Source): WalIndex | null {
  const startedAt = Date.now() - uptime() * 1_000;
  return bytes === 0 || changedAt < startedAt ? null : readWalIndex(read(0, INDEX_BYTES));
}

interface Files {
  readonly main: Source;
  readonly wal: Source;
  readonly index: WalIndex | null;
}

function inspect({ main, wal, index }: Files): LogFiles {
  const pageSize = pageSizeIn(main.read(0, 100)) ?? PAGE_BYTES;
  const found = readWal(wal.read, { bytes: wal.bytes, pageSize });
  const isForeign = found !== null && index !== null && !isOwn(found, index);
  const own = isForeign ? null : found;
  const moved = index?.moved ?? 0;
  const expected = Math.max(index?.frames ?? 0, own?.frames.length ?? 0);
  const missing = own === null ? expected > moved : missesFrame(own, { after: moved, upTo: expected });
  const pages = openPages({ ...main, ...(own === null ? {} : { newer: newerPages(own, { wal, after: moved }) }) });
  const walProblem =
    isForeign || (own?.committed ?? 0) < expected
      ? describeWal({ isForeign, isThere: wal.bytes > 0, missing, expected })
      : null;
  const isUnreadable = looksLikeLog(pages, APPLICATION_ID) ? headerProblem(pages) : null;
  // SQLite deletes the -wal file of an empty file.
  const isEmptied = main.bytes === 0 && own !== null && own.frames.length > 0;
  const problem = walProblem ?? isUnreadable ?? (isEmptied || isCut(pages, own) ? "its end is missing" : null);
  return { pages, problem, hasLostCommits: missing };
}

/** A -wal file that was reused keeps the salts of its last use until something is written to it. */
function isOwn({ salts, frames }: Wal, index: WalIndex): boolean {
  if (index.salts === null || salts === index.salts || frames.length === 0) return true;
  const [before, now] = [salts, index.salts].map((both) => Number.parseInt(both.slice(0, 8), 16));
  return index.frames === 0 && now === ((before ?? 0) + 1) % 2 ** 32;
}

const missesFrame = ({ frames }: Wal, { after, upTo }: { readonly after: number; readonly upTo: number }): boolean =>
  frames.length < upTo || frames.slice(after).some(({ page }) => page === null);

/** Frames that were copied into the database file are not used: it may have newer pages of a frame that is damaged. */
function newerPages({ pageSize, frames }: Wal, { wal, after }: { readonly wal: Source; readonly after: number }) {
  const places = new Map<number, number>();
  for (const { page, at } of frames.slice(after)) if (page !== null) places.set(page, at);
  return {
    pageSize,
    count: frames.at(-1)?.databasePages ?? 0,
    page(number: number): Buffer | null {
      const at = places.get(number);
      return at === undefined ? null : wal.read(at, pageSize);
    },
  };
}

interface WalProblem {
  readonly isForeign: boolean;
  readonly isThere: boolean;
  readonly missing: boolean;
  readonly expected: number;
}

function describeWal({ isForeign, isThere, missing, expected }: WalProblem): string {
  const lost = missing ? "so that commits are missing" : "but everything that was committed can be read";
  if (isForeign) return `its -wal file belongs to another database, ${lost}`;
  return isThere ? `its -wal file is damaged, ${lost}` : `its -wal file with ${expected} pages is gone, ${lost}`;
}

/** Whether a page is neither in the file nor in the -wal file. */
function isCut(pages: PageFile, wal: Wal | null): boolean {
  const count = wal?.frames.at(-1)?.databasePages ?? pagesNamedIn(pages);
  const newer = new Set(wal?.frames.map(({ page }) => page));
  for (let number = pages.inFile + 1; number <= count; number += 1) if (!newer.has(number)) return true;
  return false;
}

function openIfThere(path: string): number | null {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  return openSync(path, "r");
}

function readAt(descriptor: number, { from, bytes }: { from: number; bytes: number }): Buffer {
  const buffer = Buffer.alloc(bytes);
  const read = readSync(descriptor, buffer, 0, bytes, from);
  return buffer.subarray(0, read);
}
