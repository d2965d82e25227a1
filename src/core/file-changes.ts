/** What a session changed in files, as its events report it: where there is no git, or git may not run. Pure. */
import type { UniversalEvent } from "../protocol/events.ts";
import type { DiffFile } from "../protocol/workspaces.ts";

export interface ReportedChanges {
  readonly files: Map<string, DiffFile>;
  readonly diffs: string[];
}

export const noChanges = (): ReportedChanges => ({ files: new Map(), diffs: [] });

/** Adds what one event reports; paths inside the directory are shown from there. */
export function addChanges(changes: ReportedChanges, event: UniversalEvent, directory: string): void {
  if (event.type !== "item.completed") return;
  for (const part of event.data.item.content) {
    if (part.type !== "file_ref" || part.action === "read") continue;
    const path = part.path.startsWith(`${directory}/`) ? part.path.slice(directory.length + 1) : part.path;
    const counted = part.diff === undefined ? null : countLines(part.diff);
    changes.files.set(
      path,
      merge(changes.files.get(path), { path, status: statusOf(part.change), ...counts(counted) }),
    );
    if (part.diff !== undefined && part.diff !== "") changes.diffs.push(withHead(path, part.diff.trimEnd()));
  }
}

/** Agents report hunks alone, or a whole diff. */
const withHead = (path: string, diff: string): string =>
  diff.startsWith("@@") ? `--- a/${path}\n+++ b/${path}\n${diff}` : diff;

const statusOf = (change: string | undefined): DiffFile["status"] =>
  change === "add" ? "added" : change === "delete" ? "deleted" : "modified";

interface Counted {
  readonly added: number;
  readonly removed: number;
}

const counts = (counted: Counted | null) => counted ?? { added: null, removed: null };

function countLines(diff: string): Counted {
  const lines = diff.split("\n");
  const starting = (sign: string): number =>
    lines.filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
  return { added: starting("+"), removed: starting("-") };
}

function merge(former: DiffFile | undefined, next: DiffFile): DiffFile {
  if (former === undefined) return next;
  const sum = (one: number | null, other: number | null) => (one === null || other === null ? null : one + other);
  const status = former.status === "added" && next.status === "modified" ? "added" : next.status;
  return { ...next, status, added: sum(former.added, next.added), removed: sum(former.removed, next.removed) };
}
