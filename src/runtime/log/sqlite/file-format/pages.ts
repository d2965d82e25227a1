/**
 * Reads rows out of a SQLite file without SQLite, page by page (sqlite.org/fileformat2.html). A page that is damaged
 * takes only its own rows along: pages below it are found by the file's map of pages. Nothing read is trusted.
 */
import { readCells } from "./cells.ts";

const HEADER_BYTES = 100;
const MAGIC = "SQLite format 3\0";
const LEAF = 13;
const INTERIOR = 5;
/** Kinds of pages in the map that auto-vacuum keeps. */
const MAPPED_ROOT = 1;
const MAPPED_TREE = 5;
const ENTRY_BYTES = 5;
/** No tree of tables is deeper. */
const MOST_LEVELS = 20;

export type Read = (from: number, bytes: number) => Buffer;

export interface PageFile {
  readonly applicationId: number;
  readonly schema: number;
  readonly count: number;
  /** Whether some pages are a map that says which page leads to which. */
  readonly hasMap: boolean;
  /** Without what each page keeps free at its end. */
  readonly usable: number;
  /** Null when it is beyond the end of the file. */
  readonly page: (number: number) => Buffer | null;
}

/** Null when the file has no header of a database. */
export function openPages(read: Read, fileBytes: number): PageFile | null {
  const header = read(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, MAGIC.length) !== MAGIC) return null;
  const stored = header.readUInt16BE(16);
  const pageSize = stored === 1 ? 65_536 : stored;
  if (pageSize < 512 || (pageSize & (pageSize - 1)) !== 0) return null;
  const count = Math.floor(fileBytes / pageSize);
  return {
    applicationId: header.readUInt32BE(68),
    schema: header.readUInt32BE(60),
    count,
    hasMap: header.readUInt32BE(52) !== 0,
    usable: pageSize - (header[20] ?? 0),
    page: (number) => (number < 1 || number > count ? null : read((number - 1) * pageSize, pageSize)),
  };
}

export type Value = null | number | string | Uint8Array;

export interface TableRow {
  readonly rowid: number;
  readonly values: readonly Value[];
}

export interface Table {
  readonly name: string;
  readonly root: number;
}

/** The tables of the file; null when its schema cannot be read. */
export function tablesIn(file: PageFile): readonly Table[] | null {
  const tables: Table[] = [];
  for (const row of rowsOf(file, 1, new Set())) {
    const [type, name, , root] = row?.values ?? [];
    if (typeof type !== "string" || typeof name !== "string" || typeof root !== "number") return null;
    if (type === "table") tables.push({ name, root });
  }
  return tables;
}

/**
 * The rows of each table, a page at a time; null in the place of something that cannot be read. Pages that no readable
 * page leads to come last.
 */
export function* tableRows(file: PageFile, tables: readonly Table[]): Generator<[Table, TableRow | null]> {
  // Each table has its own: a damaged page may lead to pages of another table.
  const seen = new Map<number, Set<number>>();
  for (const table of tables) {
    const own = new Set<number>();
    seen.set(table.root, own);
    for (const row of rowsOf(file, table.root, own)) yield [table, row];
  }
  for (let number = 2; file.hasMap && number <= file.count; number += 1) {
    const page = file.page(number);
    if (page?.[0] !== LEAF) continue;
    const root = rootOf(file, number);
    const table = tables.find((one) => one.root === root);
    if (table === undefined || seen.get(table.root)?.has(number) === true) continue;
    for (const row of leafRows(file, page, 0)) yield [table, row];
  }
}

function* rowsOf(file: PageFile, root: number, seen: Set<number>): Generator<TableRow | null> {
  const waiting = [{ number: root, level: 0 }];
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
    if (kind === LEAF) yield* leafRows(file, page, start);
    else for (const child of childrenOf(page, start)) waiting.push({ number: child, level: level + 1 });
  }
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

function* leafRows(file: PageFile, page: Buffer, start: number): Generator<TableRow | null> {
  for (const row of readCells(page, start, { usable: file.usable, page: file.page, count: file.count })) yield row;
}

/** By the map of pages, from parent to parent; null where it does not lead to a root. */
function rootOf({ usable, page }: PageFile, number: number): number | null {
  const perMap = Math.floor(usable / ENTRY_BYTES);
  let current = number;
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    const group = Math.floor((current - 2) / (perMap + 1));
    const map = 2 + group * (perMap + 1);
    const at = (current - map - 1) * ENTRY_BYTES;
    const entry = current === map ? null : page(map)?.subarray(at, at + ENTRY_BYTES);
    if (entry === null || entry === undefined || entry.length < ENTRY_BYTES) return null;
    if (entry[0] === MAPPED_ROOT) return current;
    if (entry[0] !== MAPPED_TREE) return null;
    current = entry.readUInt32BE(1);
  }
  return null;
}
