/** Walks a folder's files as git would see them: ignore files respected, links not followed, bounded. */
import type { Dirent } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { type IgnoreLayer, isIgnored, readIgnoreFile } from "./ignore.ts";

const ENTRIES_LIMIT = 200_000;
const DEPTH_LIMIT = 64;
const IGNORE_FILE_LIMIT = 1024 * 1024;

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
}

/** Folders come before what is in them, names in order. */
export async function* walk({ root, signal, maxDepth = DEPTH_LIMIT }: WalkOptions): AsyncGenerator<Walked> {
  const outer = await outerLayers(root);
  // Paths of the outer layers are relative to the outermost one, so all paths are made so while matching.
  const base = outer.top === root ? "" : relative(outer.top, root).split(sep).join("/");
  let count = 0;
  async function* visit(folder: string, depth: number, above: readonly IgnoreLayer[]): AsyncGenerator<Walked> {
    const layers = [...above, ...(await layerOf(join(root, folder), joinPath(base, folder)))];
    for (const entry of await entriesOf(join(root, folder))) {
      signal.throwIfAborted();
      const directory = entry.isDirectory();
      if ((!directory && !entry.isFile()) || entry.name === ".git") continue;
      const path = joinPath(folder, entry.name);
      if (isIgnored(layers, { path: joinPath(base, path), directory })) continue;
      count += 1;
      if (count > ENTRIES_LIMIT) return;
      yield { path, directory, depth };
      if (directory && depth < maxDepth) yield* visit(path, depth + 1, layers);
    }
  }
  yield* visit("", 1, outer.layers);
}

const joinPath = (folder: string, name: string): string =>
  folder === "" ? name : name === "" ? folder : `${folder}/${name}`;

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
}

async function layerOf(folder: string, base: string): Promise<IgnoreLayer[]> {
  const text = await readSmall(join(folder, ".gitignore"));
  return text === null ? [] : [{ base, rules: readIgnoreFile(text) }];
}

/** The ignore files above the root, up to the repository's top. */
async function outerLayers(root: string): Promise<{ top: string; layers: IgnoreLayer[] }> {
  const top = await repositoryTop(root);
  if (top === null) return { top: root, layers: [] };
  const layers: IgnoreLayer[] = [];
  const excluded = await readSmall(join(top, ".git", "info", "exclude"));
  if (excluded !== null) layers.push({ base: "", rules: readIgnoreFile(excluded) });
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
