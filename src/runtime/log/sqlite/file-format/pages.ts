/**
 * Reads rows out of a SQLite file without SQLite, page by page (sqlite.org/fileformat2.html). A damaged page loses only
 * its own rows: pages that no readable page leads to are found by looking at every page. Nothing read is trusted, and
 * the header only where it makes sense.
 */
import { readCells } from "./cells.ts";

const HEADER_BYTES = 100;
const MAGIC = "SQLite format 3\0";
const INDEX_LEAF = 10;
const INDEX_INTERIOR = 2;
const LEAF = 13;
const INTERIOR = 5;
/** Kind of an unused page in the map that auto-vacuum keeps. */
const MAPPED_FREE = 2;
const ENTRY_BYTES = 5;
/** No tree of tables is deeper. */
const MOST_LEVELS = 20;
const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536, 2_048, 1_024, 512];
/** Number of pages that are looked at to find the page size of a file with a damaged header. */
const SAMPLED_PAGES = 200;

export type Read = (from: number, bytes: number) => Buffer;

export interface PageFile {
  readonly header: Buffer;
  readonly count: number;
  /** Number of whole pages in the file itself. */
  readonly inFile: number;
  readonly pageSize: number;
  /** Whether some pages are a map of what each page is. */
  readonly hasMap: boolean;
  /** Null when it is beyond the end of the file. */
  readonly page: (number: number) => Buffer | null;
}

export interface PageSource {
  readonly read: Read;
  readonly bytes: number;
  /** Pages that are newer than those in the file, and the size of the database with them. */
  readonly newer?: {
    readonly pageSize: number;
    readonly count: number;
    readonly page: (number: number) => Buffer | null;
  };
}

export function openPages({ read, bytes, newer }: PageSource): PageFile {
  const pageSize = newer?.pageSize ?? pageSizeIn(read(0, HEADER_BYTES)) ?? likelyPageSize(read, bytes);
  const last = Math.ceil(bytes / pageSize);
  const page = (number: number): Buffer | null => {
    const found = newer?.page(number) ?? null;
    if (found !== null) return found;
    if (number < 1 || number > last) return null;
    const stored = read((number - 1) * pageSize, pageSize);
    return stored.length === pageSize ? stored : Buffer.concat([stored, Buffer.alloc(pageSize - stored.length)]);
  };
  const header = (page(1) ?? Buffer.alloc(HEADER_BYTES)).subarray(0, HEADER_BYTES);
  return {
    header,
    count: Math.max(last, newer?.count ?? 0),
    inFile: Math.floor(bytes / pageSize),
    pageSize,
    // The first page behind the map is the root of a table, which has no parent.
    hasMap: header.readUInt32BE(52) !== 0 || page(2)?.readUInt32BE(0) === 0x01000000,
    page,
  };
}

/** Null if it is not a valid page size. */
export function pageSizeIn(header: Buffer): number | null {
  if (header.length < 18) return null;
  const stored = header.readUInt16BE(16);
  const pageSize = stored === 1 ? 65_536 : stored;
  return pageSize < 512 || (pageSize & (pageSize - 1)) !== 0 ? null : pageSize;
}

/** The page size with which the most bytes look like pages of a tree. */
function likelyPageSize(read: Read, bytes: number): number {
  const scores = PAGE_SIZES.map((pageSize) => {
    const count = Math.min(SAMPLED_PAGES, Math.floor(bytes / pageSize));
    let fitting = 0;
    for (let index = 1; index < count; index += 1) if (isTree(read(index * pageSize, pageSize))) fitting += 1;
    return { pageSize, score: count < 2 ? 0 : fitting / (count - 1) };
  });
  return scores.reduce((best, one) => (one.score > best.score ? one : best)).pageSize;
}

/** Cells fill a page of a tree from its end. */
function isTree(page: Buffer): boolean {
  const kind = page[0] ?? 0;
  if (![INDEX_LEAF, INDEX_INTERIOR, LEAF, INTERIOR].includes(kind)) return false;
  const start = kind === LEAF || kind === INDEX_LEAF ? 8 : 12;
  const cells = page.readUInt16BE(3);
  if (cells === 0) return (page.readUInt16BE(5) || 65_536) === page.length;
  if (start + cells * 2 > page.length) return false;
  const places = Array.from({ length: cells }, (_, cell) => page.readUInt16BE(start + cell * 2));
  const last = Math.max(...places);
  return last >= page.length / 2 && last < page.length;
}

const OUR_TABLE = "CREATE TABLE sessions";

/** Whether the first page is one of a database with a table of sessions, damaged or not. */
export const looksLikeLog = (file: PageFile, applicationId: number): boolean =>
  file.header.readUInt32BE(68) === applicationId || (file.page(1)?.includes(OUR_TABLE) ?? false);

/** Describes the first invalid field of the header; null if all are valid. */
export function headerProblem({ header }: PageFile): string | null {
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) return "it does not begin like a database";
  if (pageSizeIn(header) === null) return "its page size is wrong";
  if (![1, 2].includes(header[18] ?? 0) || ![1, 2].includes(header[19] ?? 0)) return "its format version is wrong";
  if (header[20] !== 0) return "its number of reserved bytes is wrong";
  if (header[21] !== 64 || header[22] !== 32 || header[23] !== 32) return "its payload fractions are wrong";
  if (header.readUInt32BE(44) > 4) return "its schema format is wrong";
  if (header.readUInt32BE(56) > 1) return "its text encoding is wrong";
  return null;
}

/** Number of pages that the header names; 0 when it names none. */
export const pagesNamedIn = ({ header }: PageFile): number =>
  header.readUInt32BE(24) === header.readUInt32BE(92) ? header.readUInt32BE(28) : 0;

export type Value = null | number | string | Uint8Array;

export interface TableRow {
  readonly rowid: number;
  readonly values: readonly Value[];
}

export interface Table {
  readonly name: string;
  readonly root: number;
}

/** The tables whose entries in the schema can be read. */
export function tablesIn(file: PageFile): readonly Table[] {
  const tables: Table[] = [];
  for (const row of rowsOf(file, 1)) {
    const [type, name, , root] = row?.values ?? [];
    if (type === "table" && typeof name === "string" && typeof root === "number") tables.push({ name, root });
  }
  return tables;
}

/** The rows of a table; null in the place of something that cannot be read. */
export function* rowsOf(file: PageFile, root: number): Generator<TableRow | null> {
  for (const number of pagesOf(file, root)) {
    if (number === null) yield null;
    else yield* rowsOn(file, number);
  }
}

/** The pages of a table that may hold rows; null in the place of one that cannot be read. */
export function* pagesOf(file: PageFile, root: number): Generator<number | null> {
  const waiting = [{ number: root, level: 0 }];
  const seen = new Set<number>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { number, level } = next;
    if (seen.has(number)) continue;
    const page = file.page(number);
    const start = number === 1 ? HEADER_BYTES : 0;
    const kind = page?.[start];
    if (page === null || (kind !== LEAF && kind !== INTERIOR) || level > MOST_LEVELS) {
      yield null;
      continue;
    }
    seen.add(number);
    if (kind === LEAF) yield number;
    else for (const child of childrenOf(page, start)) waiting.push({ number: child, level: level + 1 });
  }
}

/** Pages in use that may hold rows of some table. */
export function* leavesIn(file: PageFile): Generator<number> {
  for (let number = 2; number <= file.count; number += 1) {
    if (file.page(number)?.[0] === LEAF && !isFree(file, number)) yield number;
  }
}

export function rowsOn({ page: pageAt, pageSize, count }: PageFile, number: number): (TableRow | null)[] {
  const page = pageAt(number);
  if (page === null) return [null];
  return readCells(page, number === 1 ? HEADER_BYTES : 0, { usable: pageSize, page: pageAt, count });
}

function childrenOf(page: Buffer, start: number): number[] {
  const count = page.readUInt16BE(start + 3);
  const children = [page.readUInt32BE(start + 8)];
  for (let cell = 0; cell < count; cell += 1) {
    const place = start + 12 + cell * 2;
    const at = place + 2 <= page.length ? page.readUInt16BE(place) : page.length;
    children.push(at + 4 <= page.length ? page.readUInt32BE(at) : 0);
  }
  return children;
}

/** By the map of pages. */
function isFree({ hasMap, pageSize, page }: PageFile, number: number): boolean {
  if (!hasMap) return false;
  const perMap = Math.floor(pageSize / ENTRY_BYTES);
  const map = 2 + Math.floor((number - 2) / (perMap + 1)) * (perMap + 1);
  return number !== map && page(map)?.[(number - map - 1) * ENTRY_BYTES] === MAPPED_FREE;
}
