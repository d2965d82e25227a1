/**
 * Snapshots of a directory, as trees in a git directory of Franca's own: the repository's refs, index, configuration,
 * hooks and filters have no part in it. What the directory's `.gitattributes` would do to a file is turned off, links
 * are kept as links, and what `.gitignore` names is left alone.
 */
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programPath } from "../../runtime/program-path.ts";

/** How long one call of git may take: a directory that takes longer has no snapshots. */
const GIT_MS = 20_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
/** A longer diff is not shown. */
const MAX_DIFF = 200_000;

const settings: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.untrackedCache", "false"],
  ["core.autocrlf", "false"],
  ["core.safecrlf", "false"],
  ["core.symlinks", "true"],
  ["core.quotePath", "false"],
  ["core.bare", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["submodule.recurse", "false"],
  ["advice.addEmbeddedRepo", "false"],
];

/** Stronger than any `.gitattributes` of the directory. */
const ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding -diff -merge\n";

export interface SnapshotPlace {
  /** The git directory; made when it is first needed. */
  readonly folder: string;
  readonly directory: string;
}

/** The directory as it is now, as a tree. */
export async function takeSnapshot(place: SnapshotPlace): Promise<string> {
  await prepare(place);
  // A file that cannot be read, or a repository without a commit, is left out: git says so by its exit code.
  await git(place, ["add", "--all", "--ignore-errors", "--", "."], { failing: true });
  return (await git(place, ["write-tree"])).trim();
}

/** The files that differ between two snapshots. */
export async function changedFiles(
  place: SnapshotPlace,
  { from, to }: { from: string; to: string },
): Promise<readonly string[]> {
  if (from === to) return [];
  const args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=all", from, to];
  return (await git(place, args)).split("\0").filter((path) => path !== "");
}

/** Null when it is too long to be shown. */
export async function diffBetween(
  place: SnapshotPlace,
  { from, to }: { from: string; to: string },
): Promise<string | null> {
  const plain = ["--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--ignore-submodules=all"];
  const diff = await git(place, ["diff-tree", "-r", "-p", "--text", ...plain, from, to]);
  return diff.length > MAX_DIFF ? null : diff;
}

/** Makes these files, and no others, what they are in the snapshot. Git follows no link on the way to a file. */
export async function restoreFiles(
  place: SnapshotPlace,
  { files, from }: { files: readonly string[]; from: string },
): Promise<void> {
  if (files.length === 0) return;
  const now = await takeSnapshot(place);
  const wanted = new Map(entriesIn(await git(place, ["ls-tree", "-r", "-z", from])));
  const lines = files.map((path) => `${wanted.get(path) ?? `0 ${"0".repeat(40)}`}\t${path}\0`).join("");
  const beside = { index: join(place.folder, "index.target") };
  await git(place, ["read-tree", now], beside);
  await git(place, ["update-index", "-z", "--index-info"], { ...beside, input: lines });
  const target = (await git(place, ["write-tree"], beside)).trim();
  await git(place, ["read-tree", "--reset", "-u", target]);
}

/** By path: mode and object, without repositories inside of the directory. */
const entriesIn = (listed: string): [string, string][] =>
  listed.split("\0").flatMap((line): [string, string][] => {
    const [, mode = "", object = "", path = ""] = /^(\d+) \w+ ([0-9a-f]+)\t(.*)$/s.exec(line) ?? [];
    return path === "" || mode === "160000" ? [] : [[path, `${mode} ${object}`]];
  });

async function prepare(place: SnapshotPlace): Promise<void> {
  const { folder } = place;
  await mkdir(join(folder, "info"), { recursive: true, mode: 0o700 });
  await writeFile(join(folder, "info", "attributes"), ATTRIBUTES, { mode: 0o600 });
  // Only one call at a time works here: a lock that is left is of one that was killed.
  await rm(join(folder, "index.lock"), { force: true });
  await git(place, ["init", "--quiet", "--template="]);
}

interface GitOptions {
  readonly index?: string;
  readonly input?: string;
  /** Its exit code may be other than 0. */
  readonly failing?: boolean;
}

function git({ folder, directory }: SnapshotPlace, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const env = {
    PATH: programPath(process.env.PATH),
    LC_ALL: "C",
    GIT_DIR: folder,
    GIT_WORK_TREE: directory,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([name, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, name],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
    ...(options.index === undefined ? {} : { GIT_INDEX_FILE: options.index }),
  };
  return new Promise((resolve, reject) => {
    const limits = { timeout: GIT_MS, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT } as const;
    const child = execFile("git", [...args], { cwd: directory, env, ...limits }, (error, stdout) => {
      const isExit = error !== null && typeof error.code === "number" && error.signal === null;
      if (error === null || (isExit && options.failing === true)) resolve(stdout);
      else reject(error);
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.input ?? "");
  });
}
