/** Reading and writing text files for the tools: only regular files, by their real path, with their line ends kept. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Place } from "../../runtime/confine.ts";
import { type FileLedger, ToolFailure } from "./tool.ts";

/** Larger files are not edited by text replacement. */
const EDIT_LIMIT_BYTES = 10 * 1024 * 1024;
const SNIFF_BYTES = 8_192;
const SUGGESTIONS = 3;

export function fileLedger(): FileLedger {
  const last = new Map<string, Promise<unknown>>();
  return {
    seen: new Map(),
    async exclusive(path, work) {
      const before = last.get(path) ?? Promise.resolve();
      // The one before may fail; that is its caller's affair.
      const mine = before.then(work, work);
      last.set(path, mine);
      try {
        return await mine;
      } finally {
        if (last.get(path) === mine) last.delete(path);
      }
    },
  };
}

/** Opens what is really there: never through a link that took its place, never a pipe or a device. */
export async function openFile(place: Place): Promise<{ handle: FileHandle; size: number; stamp: string }> {
  const handle = await open(place.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    async (error: unknown) => {
      throw await openFailure(place, error);
    },
  );
  const info = await handle.stat();
  if (info.isFile()) return { handle, size: info.size, stamp: `${info.mtimeMs}:${info.size}` };
  await handle.close();
  const what = info.isDirectory() ? "a directory: use the list tool" : "no regular file";
  throw new ToolFailure(`${place.shown} is ${what}.`);
}

async function openFailure(place: Place, error: unknown): Promise<unknown> {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "ENOENT" || code === "ENOTDIR") {
    const near = await similarNames(place.path);
    const hint = near.length === 0 ? "" : ` Did you mean ${near.join(", ")}?`;
    return new ToolFailure(`${place.shown} does not exist.${hint}`);
  }
  if (code === "EACCES" || code === "EPERM")
    return new ToolFailure(`${place.shown} may not be read: permission denied.`);
  if (code === "ELOOP") return new ToolFailure(`${place.shown} became a symbolic link while it was opened. Try again.`);
  return error;
}

async function similarNames(path: string): Promise<string[]> {
  const wanted = basename(path).toLowerCase();
  const stem = wanted.replace(/\.[^.]*$/, "");
  const names = await readdir(dirname(path)).catch(() => []);
  return names
    .filter((name) => name.toLowerCase() === wanted || (stem.length > 2 && name.toLowerCase().includes(stem)))
    .slice(0, SUGGESTIONS);
}

/** The whole text of a file that is to be changed; null when there is none yet. */
export async function readWhole(place: Place): Promise<{ text: string; stamp: string } | null> {
  let opened: Awaited<ReturnType<typeof openFile>>;
  try {
    opened = await openFile(place);
  } catch (error) {
    if (error instanceof ToolFailure && error.message.includes("does not exist")) return null;
    throw error;
  }
  const { handle, size, stamp } = opened;
  try {
    if (size > EDIT_LIMIT_BYTES) throw new ToolFailure(`${place.shown} has ${size} bytes, too many to edit as text.`);
    const bytes = await handle.readFile();
    if (isBinary(bytes)) throw new ToolFailure(`${place.shown} is a binary file.`);
    return { text: bytes.toString("utf8"), stamp };
  } finally {
    await handle.close();
  }
}

/** Writes in place, so that mode, owner and hard links stay as they are. Returns what the file looks like now. */
export async function writeWhole(place: Place, text: string): Promise<string> {
  await mkdir(dirname(place.path), { recursive: true });
  const flags =
    constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(place.path, flags, 0o666);
  try {
    await handle.writeFile(text, "utf8");
    const { mtimeMs, size } = await handle.stat();
    return `${mtimeMs}:${size}`;
  } finally {
    await handle.close();
  }
}

export const isBinary = (bytes: Uint8Array): boolean => bytes.subarray(0, SNIFF_BYTES).includes(0);
