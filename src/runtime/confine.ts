/**
 * Where a path really leads: symlinks resolved, `..` and absolute paths followed, also for files that are not there
 * yet.
 */
import { lstat, readlink } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";

/** More links than this in one path is a loop. */
const LINKS_LIMIT = 40;

export interface Place {
  /** The real path: this one is opened, never the one that was written. */
  readonly path: string;
  /** Inside the session's directory. */
  readonly inside: boolean;
  /** As a person would write it: relative when inside. */
  readonly shown: string;
  /** As it was written, absolute, with its links and `..`. */
  readonly written: string;
}

/** `directory` must be a real path already (`realDirectory`). */
export async function findPlace(directory: string, written: string): Promise<Place> {
  if (written.includes("\0")) throw new Error("A path cannot contain a NUL character.");
  const home = expandHome(written);
  // Not normalised: behind a link, `..` leads to where the link's target lies, for us as for a shell.
  const absolute = isAbsolute(home) ? home : `${directory}${sep}${home}`;
  const path = await realPath(absolute);
  const inside = isInside({ directory, path });
  return { path, inside, shown: inside ? relative(directory, path) || "." : path, written: absolute };
}

export const realDirectory = (directory: string): Promise<string> => realPath(resolve(directory));

export function isInside({ directory, path }: { directory: string; path: string }): boolean {
  const way = relative(directory, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

const expandHome = (path: string): string =>
  path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;

/** Like `realpath`, but also of what does not exist: a dangling link leads to where a write would create its target. */
async function realPath(path: string): Promise<string> {
  const { root } = parse(path);
  let done = root;
  let rest = path.slice(root.length).split(sep);
  let links = 0;
  while (rest.length > 0) {
    const [name = "", ...after] = rest;
    rest = after;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      done = dirname(done);
      continue;
    }
    const next = join(done, name);
    const target = await linkTarget(next);
    if (target === null) {
      done = next;
      continue;
    }
    links += 1;
    if (links > LINKS_LIMIT) throw new Error(`${path} has too many symbolic links.`);
    rest = [...target.split(sep), ...rest];
    if (isAbsolute(target)) done = root;
  }
  return done;
}

async function linkTarget(path: string): Promise<string | null> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : null;
  } catch (error) {
    // What is not there, or below a file, or behind a closed door, is no link.
    if (error instanceof Error && "code" in error && typeof error.code === "string") return null;
    throw error;
  }
}
