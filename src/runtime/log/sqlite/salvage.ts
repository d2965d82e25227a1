/**
 * A damaged log is opened all the same: everything that can be read is copied into a new file, which takes its place.
 * The damaged file is kept beside it, with a report that names what is missing.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { processTable } from "../../agent/process-table.ts";
import { holderOf } from "../../daemon/lock.ts";
import { openDatabase } from "./database.ts";
import { openPages, type PageFile, type Table, tablesIn } from "./file-format/pages.ts";
import { copyReadable } from "./salvage-copy.ts";
import { APPLICATION_ID, NEWEST_SCHEMA, prepareDatabase } from "./schema.ts";

/** Stored groups have checksums from here on. */
const OLDEST_SCHEMA = 3;
const DAMAGED = ".damaged-";
const REPORT = ".json";
const DRAFT = ".salvaging-";
const MOST_PROBLEMS = 1_000;

export interface Salvage {
  /** RFC 3339. */
  readonly at: string;
  /** Where the damaged file is now. */
  readonly kept: string;
  /** What is not there any more, in sentences; none where indexes and free pages alone were damaged. */
  readonly problems: readonly string[];
}

/** Nobody here may have it open. False where nothing can be done: no log of ours is left, or others work on it. */
export function salvageLog(file: string): boolean {
  if (isUsed(file)) return false;
  const descriptor = openSync(file, "r");
  try {
    const pages = openPages((from, bytes) => readAt(descriptor, { from, bytes }), fstatSync(descriptor).size);
    const tables = pages === null ? null : logTables(pages);
    if (pages === null || tables === null) return false;
    return salvage(file, { pages, tables });
  } finally {
    closeSync(descriptor);
  }
}

/** Null when it is no log, or none that can be salvaged. */
function logTables(pages: PageFile): readonly Table[] | null {
  const { applicationId, schema } = pages;
  if (applicationId !== APPLICATION_ID || schema < OLDEST_SCHEMA || schema > NEWEST_SCHEMA) return null;
  const tables = tablesIn(pages);
  return tables?.some(({ name }) => name === "sessions") ? tables : null;
}

function salvage(file: string, { pages, tables }: { pages: PageFile; tables: readonly Table[] }): boolean {
  const at = new Date().toISOString();
  const kept = `${file}${DAMAGED}${at.replaceAll(/[:.]/g, "-")}`;
  const draft = `${file}${DRAFT}${process.pid}`;
  try {
    removeDraft(draft);
    closeSync(openSync(draft, "wx", 0o600));
    const problems = copyInto(draft, { pages, tables, kept });
    if (problems === null) return false;
    const shown = problems.slice(0, MOST_PROBLEMS);
    if (shown.length < problems.length) shown.push(`And ${problems.length - shown.length} more.`);
    const report: Salvage = { at, kept, problems: shown };
    writeFileSync(`${kept}${REPORT}`, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    // A crash in between leaves the damaged file in its place, and the next start begins again.
    linkSync(file, kept);
    for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
    renameSync(draft, file);
    chmodSync(kept, 0o600);
    return true;
  } catch (error) {
    rmSync(`${kept}${REPORT}`, { force: true });
    rmSync(kept, { force: true });
    throw error;
  } finally {
    removeDraft(draft);
  }
}

function copyInto(
  draft: string,
  { pages, tables, kept }: { pages: PageFile; tables: readonly Table[]; kept: string },
): string[] | null {
  const target = openDatabase(draft);
  let problems: string[] | null;
  try {
    prepareDatabase(target, { file: draft, durability: "normal" });
    target.exec("BEGIN IMMEDIATE");
    problems = copyReadable(pages, { tables, target, kept });
    target.exec("COMMIT");
    target.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    target.close();
  }
  const descriptor = openSync(draft, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
  return problems;
}

/** What was salvaged in a data folder, for as long as the damaged file or its report is there. */
export function salvagesIn(folder: string): readonly Salvage[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.includes(`.db${DAMAGED}`) && name.endsWith(REPORT))
    .flatMap((name) => readReport(join(folder, name)));
}

export const describeSalvage = ({ at, kept, problems }: Salvage): string =>
  problems.length === 0
    ? `The log was damaged and was copied at ${at}; nothing is missing. The damaged file is ${kept}: delete it and its report.`
    : `The log was damaged and was copied at ${at}; ${problems.length} things are missing, and are named in ` +
      `${kept}${REPORT}. Check the disk. Delete both files when you need the damaged one no longer.`;

function readReport(file: string): Salvage[] {
  try {
    const report: Salvage = JSON.parse(readFileSync(file, "utf8"));
    return Array.isArray(report.problems) ? [report] : [];
  } catch {
    return [];
  }
}

/** By a daemon, or by another process that salvages it. The -wal file was moved into it before. */
function isUsed(file: string): boolean {
  const folder = dirname(file);
  const holder = holderOf(folder);
  if (holder !== null && holder.pid !== process.pid) return true;
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return true;
  const start = `${basename(file)}${DRAFT}`;
  let used = false;
  for (const name of readdirSync(folder).filter((one) => one.startsWith(start))) {
    const pid = Number.parseInt(name.slice(start.length), 10);
    if (pid !== process.pid && processTable.startOf(pid) !== null) used = true;
    else rmSync(join(folder, name), { force: true });
  }
  return used;
}

function removeDraft(draft: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${draft}${suffix}`, { force: true });
}

function readAt(descriptor: number, { from, bytes }: { from: number; bytes: number }): Buffer {
  const buffer = Buffer.alloc(bytes);
  const read = readSync(descriptor, buffer, 0, bytes, from);
  return buffer.subarray(0, read);
}
