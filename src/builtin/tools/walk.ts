/** Walks a folder's files as git would see them: ignore files respected, links not followed, bounded. */
import type { Dirent } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { isSliceOver, type Meter } from "../../core/glob.ts";
import { type IgnoreLayer, type IgnoreQuestion, judgeIgnored, readIgnoreFile } from "./ignore.ts";
import { ToolFailure } from "./tool.ts";

const ENTRIES_LIMIT = 200_000;
const DEPTH_LIMIT = 64;
/** What an entry costs besides matching. */
const ENTRY_STEPS = 100;
const IGNORE_FILE_LIMIT = 1024 * 1024;
/** Rules of one ignore file; far more than a person writes. */
const RULES_LIMIT = 10_000;
/** Ignore files are a repository's: with many rules for many files a walk could go on for ever. */
const WALK_MS = 30_000;

export interface Walked {
  /** Relative to the root of the walk, with forward slashes. */
  readonly path: string;
  readonly directory: boolean;
  readonly depth: number;
}

export interface WalkOptions {
  readonly root: string;
  readonly signal: AbortSignal;
  readonly maxDepth?: number;
  /** Whether a path is left out, with everything below it; none is when absent. */
  readonly hides?: (path: string) => boolean;
  /** What the caller's own matching costs is added here: the walk pauses for it too. */
  readonly meter?: Meter;
}

/** Folders come before what is in them, names in order. */
export async function* walk(options: WalkOptions): AsyncGenerator<Walked> {
  const { root, signal, maxDepth = DEPTH_LIMIT, hides = () => false, meter = { steps: 0 } } = options;
  const outer = await outerLayers(root);
  // Paths of the outer layers are relative to the outermost one, so all paths are made so while matching.
  const base = outer.top === root ? "" : relative(outer.top, root).split(sep).join("/");
  let count = 0;
  const until = performance.now() + WALK_MS;
  async function* visit(folder: string, depth: number, above: readonly IgnoreLayer[]): AsyncGenerator<Walked> {
    const layers = [...above, ...(await layerOf(join(root, folder), joinPath(base, folder)))];
    for (const entry of await entriesOf(join(root, folder))) {
      meter.steps += ENTRY_STEPS;
      if (isSliceOver(meter)) await pause();
      signal.throwIfAborted();
      const directory = entry.isDirectory();
      if ((!directory && !entry.isFile()) || entry.name === ".git") continue;
      const path = joinPath(folder, entry.name);
      if (hides(join(root, path))) continue;
      if (performance.now() > until)
        throw new ToolFailure(`${root} has too many files to walk in ${WALK_MS / 1_000} s.`);
      if (await isIgnored(layers, { path: joinPath(base, path), directory, meter })) continue;
      count += 1;
      if (count > ENTRIES_LIMIT) return;
      yield { path, directory, depth };
      if (directory && depth < maxDepth) yield* visit(path, depth + 1, layers);
    }
  }
  yield* visit("", 1, outer.layers);
}

/** Other work gets its turn between rules. */
async function isIgnored(layers: readonly IgnoreLayer[], question: IgnoreQuestion): Promise<boolean> {
  const judging = judgeIgnored(layers, question);
  for (let step = judging.next(); ; step = judging.next()) {
    if (step.done === true) return step.value;
    await pause();
  }
}

const joinPath = (folder: string, name: string): string =>
  folder === "" ? name : name === "" ? folder : `${folder}/${name}`;

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
}

async function layerOf(folder: string, base: string): Promise<IgnoreLayer[]> {
  const text = await readSmall(join(folder, ".gitignore"));
  return text === null ? [] : [{ base, rules: readIgnoreFile(text, { limit: RULES_LIMIT }) }];
}

/** The ignore files above the root, up to the repository's top. */
async function outerLayers(root: string): Promise<{ top: string; layers: IgnoreLayer[] }> {
  const top = await repositoryTop(root);
  if (top === null) return { top: root, layers: [] };
  const layers: IgnoreLayer[] = [];
  const excluded = await readSmall(join(top, ".git", "info", "exclude"));
  if (excluded !== null) layers.push({ base: "", rules: readIgnoreFile(excluded, { limit: RULES_LIMIT }) });
  const steps = relative(top, root)
    .split(sep)
    .filter((name) => name !== "");
  for (let index = 0; index < steps.length; index += 1) {
    const base = steps.slice(0, index).join("/");
    layers.push(...(await layerOf(join(top, base), base)));
  }
  return { top, layers };
}

export async function repositoryTop(folder: string): Promise<string | null> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await lstat(join(at, ".git")).catch(() => null);
    if (found !== null) return at;
    if (dirname(at) === at) return null;
  }
}

async function readSmall(path: string): Promise<string | null> {
  const info = await lstat(path).catch(() => null);
  if (info === null || !info.isFile() || info.size > IGNORE_FILE_LIMIT) return null;
  return readFile(path, "utf8").catch(() => null);
}
