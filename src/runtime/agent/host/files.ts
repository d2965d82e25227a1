/**
 * Files that an agent reads and writes through us. Nothing outside the session's folder, nothing in our data folder;
 * where a path leads is decided by its real path, and decided again when the file is open.
 */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, extname } from "node:path";
import type { FilePlace, HostCall } from "../../../core/host-call.ts";
import { runsCode } from "../../../permissions/protected-files.ts";
import { findPlace, isInside, realDirectory } from "../../confine.ts";
import type { SessionView } from "../file-view.ts";
import { type Answer, done, refused } from "./answer.ts";

/** A file that is larger is not read whole. */
const READ_LIMIT = 10 * 1024 * 1024;
const WRITE_LIMIT = 32 * 1024 * 1024;

export interface FilesOptions {
  readonly directory: string;
  readonly dataFolder: string | null;
  readonly view: Pick<SessionView, "hides">;
}

type FileCall = Extract<HostCall, { type: `file.${string}` }>;

export async function performFile(options: FilesOptions, call: FileCall): Promise<Answer> {
  switch (call.type) {
    case "file.place":
      return done(await place(options, call.path));
    case "file.read":
      return readText(options, call);
    case "file.write":
      return writeText(options, call);
    case "file.attach":
      return attach(call.path);
  }
}

async function place({ directory, dataFolder, view }: FilesOptions, path: string): Promise<FilePlace> {
  const real = await realDirectory(directory);
  const found = await findPlace(real, path);
  const data = dataFolder === null ? null : await realDirectory(dataFolder);
  const isData = view.hides(found.path) || (data !== null && isInside({ directory: data, path: found.path }));
  const surroundings = { directory: real, home: homedir() };
  return {
    path: found.path,
    inside: found.inside && !isData,
    runsCode: runsCode(found.path, surroundings) || runsCode(found.written, surroundings),
  };
}

async function readText(options: FilesOptions, { path, line, limit }: Extract<FileCall, { type: "file.read" }>) {
  const found = await place(options, path);
  if (!found.inside) return refused(403, `${path} is outside the session's folder.`);
  const content = await withFile(found.path, constants.O_RDONLY, (file) => readWhole(file, path));
  return done({ content: linesOf(content, { line, limit }) });
}

async function readWhole(file: FileHandle, path: string): Promise<string> {
  const { size } = await file.stat();
  if (size > READ_LIMIT) throw new Error(`${path} has ${size} bytes; at most ${READ_LIMIT} are read.`);
  return await file.readFile("utf8");
}

/** `line` counts from 1. */
function linesOf(content: string, { line, limit }: { line: number | null; limit: number | null }): string {
  if (line === null && limit === null) return content;
  const lines = content.split(/(?<=\n)/);
  const from = Math.max(0, (line ?? 1) - 1);
  return lines.slice(from, limit === null ? undefined : from + Math.max(0, limit)).join("");
}

async function writeText(options: FilesOptions, { path, content }: Extract<FileCall, { type: "file.write" }>) {
  if (content.length > WRITE_LIMIT) return refused(413, `At most ${WRITE_LIMIT} characters are written at once.`);
  const found = await place(options, path);
  // Somebody has put a link in the way since it was allowed.
  if (!found.inside || found.path !== path) return refused(403, `${path} does not lead where it did.`);
  await mkdir(dirname(path), { recursive: true });
  await withFile(path, constants.O_WRONLY | constants.O_CREAT, async (file) => {
    await file.truncate(0);
    await file.writeFile(content, "utf8");
  });
  return done({});
}

/** Opens a plain file: no link, no pipe, no device; and on Linux the very one that was named. */
async function withFile<Result>(path: string, flags: number, use: (file: FileHandle) => Promise<Result>) {
  const file = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o644);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is no plain file.`);
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => path);
    if (opened !== path) throw new Error(`${path} does not lead where it did.`);
    return await use(file);
  } finally {
    await file.close();
  }
}

const mimes: ReadonlyMap<string, string> = new Map([
  [".png", "image/png"],
  [".jpg", "image/jpeg"],
  [".jpeg", "image/jpeg"],
  [".gif", "image/gif"],
  [".webp", "image/webp"],
]);

/** A person has attached it to a prompt: wherever it is. */
async function attach(path: string): Promise<Answer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > READ_LIMIT) return refused(413, `${path} cannot be attached: it is too large.`);
    const data = (await file.readFile()).toString("base64");
    return done({ data, mime: mimes.get(extname(path).toLowerCase()) ?? "application/octet-stream", path });
  } finally {
    await file.close();
  }
}
