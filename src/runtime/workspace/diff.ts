/** What a session changed: by git where it may run, else by what the agent reported. */
import { addChanges, noChanges } from "../../core/file-changes.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { DiffFile, SessionDiff } from "../../protocol/workspaces.ts";
import { runGit } from "../git.ts";
import type { EventLog } from "../log/contract.ts";

/** Longer diffs are cut. */
const MAX_DIFF = 1_000_000;
const READ_BYTES = 512 * 1024;
/** Files that git does not know are shown whole; of more than these, only the names. */
const MAX_FRESH = 200;

const PLAIN = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--no-renames"] as const;

export interface Changes {
  readonly files: readonly DiffFile[];
  readonly commits: number;
  /** How many files differ from the last commit. */
  readonly uncommitted: number;
}

export async function changesSince(path: string, base: string): Promise<Changes> {
  const [numbers, names, fresh, status, commits] = await Promise.all([
    runGit(path, ["diff", ...PLAIN, "--numstat", "-z", base]),
    runGit(path, ["diff", ...PLAIN, "--name-status", "-z", base]),
    freshIn(path),
    runGit(path, ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"]),
    runGit(path, ["rev-list", "--count", `${base}..HEAD`]),
  ]);
  const statuses = new Map(pairs(names.split("\0")).map(([status, file]) => [file, status]));
  const known = numbers.split("\0").flatMap((line): DiffFile[] => {
    const [added, removed, file] = line.split("\t");
    if (added === undefined || removed === undefined || file === undefined) return [];
    return [{ path: file, status: statusOf(statuses.get(file)), added: count(added), removed: count(removed) }];
  });
  const added = fresh.map((file): DiffFile => ({ path: file, status: "added", added: null, removed: null }));
  return {
    files: [...known, ...added],
    commits: Number(commits.trim()),
    uncommitted: status.split("\0").filter((line) => line !== "").length,
  };
}

const freshIn = async (path: string): Promise<string[]> =>
  (await runGit(path, ["ls-files", "--others", "--exclude-standard", "-z"])).split("\0").filter((file) => file !== "");

function pairs(list: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let index = 0; index + 1 < list.length; index += 2) found.push([list[index] ?? "", list[index + 1] ?? ""]);
  return found;
}

const statusOf = (letter = "M"): DiffFile["status"] =>
  letter.startsWith("A") ? "added" : letter.startsWith("D") ? "deleted" : "modified";

/** Git writes `-` for binary files. */
const count = (text: string): number | null => (/^\d+$/.test(text) ? Number(text) : null);

export async function diffByGit(
  path: string,
  { source, base }: { readonly source: "worktree" | "folder"; readonly base: string },
): Promise<SessionDiff> {
  const [{ files }, tracked] = await Promise.all([changesSince(path, base), runGit(path, ["diff", ...PLAIN, base])]);
  const shown: DiffFile[] = [];
  const texts = [tracked];
  for (const file of files) {
    const isFresh = file.status === "added" && file.added === null;
    const text = isFresh && texts.length <= MAX_FRESH ? await diffOfFresh(path, file.path) : null;
    if (text !== null) texts.push(text);
    shown.push(text === null ? file : { ...file, ...countFresh(text) });
  }
  return { source, base, files: shown, ...cut(texts.join("")) };
}

/** Git ends with 1 where two files differ, which is what is expected here. */
const diffOfFresh = (path: string, file: string): Promise<string> =>
  runGit(path, ["diff", ...PLAIN, "--no-index", "--", "/dev/null", file], { okCodes: [0, 1] });

/** A binary file has no lines. */
function countFresh(text: string): Pick<DiffFile, "added" | "removed"> {
  const body = text.indexOf("\n@@ ");
  if (body === -1) return { added: text.includes("\nBinary files ") ? null : 0, removed: 0 };
  const lines = text.slice(body + 1).split("\n");
  return { added: lines.filter((line) => line.startsWith("+")).length, removed: 0 };
}

const cut = (text: string) => ({ diff: text.slice(0, MAX_DIFF), truncated: text.length > MAX_DIFF });

export async function diffByEvents(log: EventLog, id: SessionId, directory: string): Promise<SessionDiff> {
  const changes = noChanges();
  for (let after = 0; ; ) {
    const groups = await log.read(id, { after, maxBytes: READ_BYTES });
    const last = groups.at(-1);
    if (last === undefined) break;
    for (const group of groups) for (const event of group.notable()) addChanges(changes, event, directory);
    after = last.last;
  }
  const text = changes.diffs.length === 0 ? "" : `${changes.diffs.join("\n")}\n`;
  return { source: "events", base: null, files: [...changes.files.values()], ...cut(text) };
}
