/**
 * Salvages a damaged log: everything that can be read is copied into a new file, which takes its place. The damaged
 * file is kept next to it, with its -wal file and a report that names what is missing.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isAlive, ownProcess, processTable } from "../../agent/process-table.ts";
import { integer, text } from "../rows.ts";
import { type Database, openDatabase } from "./database.ts";
import { isInUse } from "./in-use.ts";
import { type LogFiles, withLogFiles } from "./log-files.ts";
import { copyReadable } from "./salvage-copy.ts";
import { prepareDatabase } from "./schema.ts";
import { DAMAGED, linkIfThere, REPORT, undoUnfinished } from "./unfinished-salvage.ts";

const DRAFT = ".salvaging-";
const MOST_PROBLEMS = 1_000;

export interface Salvage {
  /** RFC 3339. */
  readonly at: string;
  /** Where the damaged file is now. */
  readonly kept: string;
  /** What is missing, in sentences; none where only indexes and free pages were damaged. */
  readonly problems: readonly string[];
}

/** `used`: another process works on the file, and nothing was done. `unreadable`: nothing in it could be read. */
export type SalvageOutcome = "salvaged" | "used" | "unreadable";

/** Salvages a damaged log. This process must not have the file open. */
export function salvageLog(file: string): SalvageOutcome {
  if (isInUse(file) || isSalvagedElsewhere(file)) return "used";
  return withLogFiles(file, (files) => salvage(file, files));
}

function salvage(file: string, files: LogFiles): SalvageOutcome {
  const at = new Date().toISOString();
  const kept = `${file}${DAMAGED}${at.replaceAll(/[:.]/g, "-")}`;
  const draft = `${file}${DRAFT}${process.pid}`;
  try {
    removeDraft(draft);
    closeSync(openSync(draft, "wx", 0o600));
    const problems = copyInto(draft, { files, kept });
    if (problems === "used" || problems === "unreadable") return problems;
    const shown = problems.slice(0, MOST_PROBLEMS);
    if (shown.length < problems.length) shown.push(`And ${problems.length - shown.length} more.`);
    const report: Salvage = { at, kept, problems: shown };
    writeFileSync(`${kept}${REPORT}`, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    // A crash in between leaves a kept file that is the file itself: the next start undoes it (undoUnfinished).
    for (const suffix of ["-wal", ""]) linkIfThere(`${file}${suffix}`, `${kept}${suffix}`);
    for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
    renameSync(draft, file);
    return "salvaged";
  } catch (error) {
    undoUnfinished(file);
    for (const suffix of [REPORT, "-wal"]) rmSync(`${kept}${suffix}`, { force: true });
    throw error;
  } finally {
    removeDraft(draft);
  }
}

interface Copying {
  readonly files: LogFiles;
  readonly kept: string;
}

function copyInto(
  draft: string,
  { files: { pages, problem, hasLostCommits }, kept }: Copying,
): string[] | Exclude<SalvageOutcome, "salvaged"> {
  const target = openDatabase(draft);
  let problems: string[] | null;
  try {
    prepareDatabase(target, { file: draft, durability: "normal" });
    target.exec("BEGIN IMMEDIATE");
    problems = copyReadable(pages, { target, kept, hasLostCommits });
    if (hasLivingOwner(target)) return "used";
    target.exec("COMMIT");
    target.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    target.close();
  }
  const descriptor = openSync(draft, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
  if (problems === null) return "unreadable";
  return hasLostCommits ? [lostCommits(problem ?? ""), ...problems] : problems;
}

const lostCommits = (problem: string): string =>
  `The log was damaged after a crash (${problem}). Events and prompts that were stored right before the crash may be ` +
  "missing, and clients may have seen some of them.";

/** A `franca run` without a daemon works on sessions of its own. */
function hasLivingOwner(target: Database): boolean {
  const { pid } = ownProcess();
  const select = "SELECT DISTINCT owner_pid, owner_started FROM sessions WHERE owner_pid IS NOT NULL";
  return target
    .prepare(select)
    .all()
    .map((row) => ({ pid: integer(row, "owner_pid"), started: text(row, "owner_started") }))
    .some((owner) => owner.pid !== pid && isAlive(owner));
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

/** Drafts of processes that are gone are removed. */
function isSalvagedElsewhere(file: string): boolean {
  const folder = dirname(file);
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
