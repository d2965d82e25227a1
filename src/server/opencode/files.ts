/** Files of the session's directory: listed, read and searched, inside it only, each with a bound. */

import { access, readdir, readFile, stat } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { unreachable } from "../../core/fold.ts";
import { mediaTypes } from "../../core/media-types.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { findPlace } from "../../runtime/confine.ts";
import { type PlacedMatch, searchFiles } from "../../runtime/search.ts";
import { gitStatus } from "./git.ts";
import { json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import { servedDirectory } from "./served-directory.ts";

const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_ENTRIES = 5_000;
const MAX_WALKED = 20_000;
const MAX_FOUND = 100;
const MAX_LINE = 2_000;
const MAX_QUERY = 1_000;
const SEARCH_MS = 5_000;

export const fileRoutes: readonly OpenCodeRoute[] = [
  {
    method: "GET",
    path: "/file",
    action: "read",
    partial: "400 for what is no folder; OpenCode answers 500.",
    handle: listFiles,
  },
  { method: "GET", path: "/file/content", action: "read", handle: readContent },
  { method: "GET", path: "/file/status", action: "read", handle: async (call) => json(await gitStatus(call)) },
  {
    method: "GET",
    path: "/find",
    action: "read",
    partial: "JavaScript's regular expressions: at most 100 lines, 5 s.",
    handle: findText,
  },
  { method: "GET", path: "/find/file", action: "read", handle: findFiles },
  {
    method: "GET",
    path: "/find/symbol",
    action: "read",
    partial: "Always empty: there are no language servers.",
    handle: noSymbols,
  },
];

export function wanted({ query }: OpenCodeCall, name: string): string {
  const value = query[name];
  if (value !== undefined) return value;
  throw new ApiError("invalid_request", `The query has no \`${name}\`.`);
}

/** The path inside the directory, with links resolved; what leads outside is refused. */
export async function inside(
  call: OpenCodeCall,
  path: string,
): Promise<{ readonly base: string; readonly path: string }> {
  if (path.includes("\0")) throw new ApiError("invalid_request", "The path contains a NUL character.");
  const base = await servedDirectory(call);
  // The target of the path is checked first, so that the response does not reveal which outside files exist.
  const { path: real, inside: isHere } = await findPlace(base, path);
  if (!isHere) throw new ApiError("invalid_request", `${path} is outside ${call.directory}.`);
  await access(real).catch(() => {
    throw new ApiError("not_found", `${path} does not exist.`);
  });
  return { base, path: real };
}

async function listFiles(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { base, path, entries } = await entriesOf(call);
  return json(
    entries.map(({ name, isFolder }) => {
      const absolute = join(path, name);
      const type = isFolder ? ("directory" as const) : ("file" as const);
      return { name, path: relative(base, absolute), absolute, type, ignored: isIgnored(name) };
    }),
  );
}

/** What is in the folder that a request names: folders first, by name. */
export async function entriesOf(call: OpenCodeCall): Promise<{
  readonly base: string;
  readonly path: string;
  readonly entries: readonly { readonly name: string; readonly isFolder: boolean }[];
}> {
  const { base, path } = await inside(call, call.query.path ?? ".");
  if (!(await stat(path)).isDirectory())
    throw new ApiError("invalid_request", `${call.query.path} is not a directory.`);
  const entries = (await readdir(path, { withFileTypes: true }))
    .slice(0, MAX_ENTRIES)
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
    .sort((one, other) => Number(other.isFolder) - Number(one.isFolder) || one.name.localeCompare(other.name));
  return { base, path, entries };
}

async function readContent(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const found = await bytesOf(call, wanted(call, "path")).catch((error: unknown) => {
    if (hasCode(error, "not_found")) return null;
    throw error;
  });
  // As OpenCode: a file that is not there is an empty one, and what is around a text is left out.
  if (found === null) return json({ type: "text", content: "" });
  const { bytes, mime: mimeType, isText } = found;
  if (isText) return json({ type: "text", content: bytes.toString("utf8").trim() });
  return json({ type: "binary", content: bytes.toString("base64"), encoding: "base64", mimeType });
}

export interface FileBytes {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly mime: string;
  readonly isText: boolean;
}

export async function bytesOf(call: OpenCodeCall, asked: string): Promise<FileBytes> {
  const { path } = await inside(call, asked);
  const about = await stat(path);
  if (!about.isFile()) throw new ApiError("invalid_request", `${asked} is not a file.`);
  if (about.size > MAX_FILE_BYTES)
    throw new ApiError("invalid_request", `${asked} is larger than ${MAX_FILE_BYTES} bytes.`);
  const bytes = await readFile(path);
  const mime = mediaTypes[extname(path).toLowerCase()] ?? "application/octet-stream";
  return { bytes, mime, isText: !bytes.subarray(0, 8_000).includes(0) };
}

async function findFiles(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  return json((await foundFiles(call)).map(({ path, isFolder }) => (isFolder ? `${path}/` : path)));
}

/** Files and folders whose path has the letters of `query`: the closest to its end first. */
export async function foundFiles(call: OpenCodeCall): Promise<readonly Entry[]> {
  const query = wanted(call, "query");
  const { base } = await inside(call, ".");
  const { dirs, type, limit } = call.query;
  if (query.length > MAX_QUERY)
    throw new ApiError("invalid_request", `\`query\` is longer than ${MAX_QUERY} characters.`);
  const lower = query.toLowerCase();
  const most = Math.min(Number(limit ?? MAX_FOUND) || MAX_FOUND, 1_000);
  const folders = type === "directory" || (type === undefined && dirs !== "false");
  const found: Entry[] = [];
  for await (const entry of walk(base)) {
    if (entry.isFolder ? !folders : type === "directory") continue;
    if (matches(entry.path, lower)) found.push(entry);
  }
  const name = lower.slice(lower.lastIndexOf("/") + 1);
  const rank = ({ path }: Entry): number => path.length - path.toLowerCase().lastIndexOf(name);
  const ranked = found.map((entry) => ({ entry, rank: rank(entry) }));
  ranked.sort((one, other) => one.rank - other.rank || one.entry.path.localeCompare(other.entry.path));
  return ranked.slice(0, most).map(({ entry }) => entry);
}

/** The letters of the query, in lower case, in their order, anywhere: one pass over the path. */
function matches(path: string, query: string): boolean {
  const text = path.toLowerCase();
  let at = -1;
  for (const letter of query) {
    if (letter === " ") continue;
    at = text.indexOf(letter, at + 1);
    if (at === -1) return false;
  }
  return true;
}

async function findText(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { pattern = "" } = call.query;
  if (pattern === "") throw new ApiError("invalid_request", "`pattern` is empty.");
  const { base } = await inside(call, ".");
  const files: string[] = [];
  for await (const { path, isFolder } of walk(base)) if (!isFolder) files.push(path);
  const bounds = { limit: MAX_FOUND, lineLength: MAX_LINE, timeoutMs: SEARCH_MS };
  const left = new AbortController();
  call.outgoing.on("close", () => left.abort());
  const searched = await searchFiles({ root: base, files, pattern, ...bounds, signal: left.signal });
  switch (searched.type) {
    case "found":
      return json(searched.matches.filter(({ parts }) => parts.length > 0).map(foundLine));
    case "unreadable":
      throw new ApiError("invalid_request", `\`pattern\` is not a regular expression: ${searched.message}`);
    case "stopped":
      throw new ApiError("invalid_request", `\`pattern\` was stopped after ${SEARCH_MS / 1_000} s: use a simpler one.`);
    default:
      return unreachable(searched);
  }
}

const foundLine = ({ path, line, text, offset, parts }: PlacedMatch) => ({
  path: { text: path },
  lines: { text: `${text}\n` },
  line_number: line,
  absolute_offset: offset,
  submatches: parts.map(({ text: found, start }) => ({ match: { text: found }, start, end: start + found.length })),
});

async function noSymbols(): Promise<OpenCodeAnswer> {
  return json([]);
}

const ignored = new Set([".git", "node_modules", ".venv", "target", "dist", "__pycache__", ".cache"]);
const isIgnored = (name: string): boolean => ignored.has(name);

interface Entry {
  readonly path: string;
  readonly isFolder: boolean;
}

/** Breadth first, without links, without what nobody searches. */
async function* walk(base: string): AsyncGenerator<Entry> {
  const folders = [""];
  let count = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(join(base, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      count += 1;
      if (count > MAX_WALKED) return;
      const path = folder === "" ? entry.name : join(folder, entry.name);
      if (entry.isDirectory()) {
        if (isIgnored(entry.name)) continue;
        folders.push(path);
        yield { path, isFolder: true };
      } else if (entry.isFile()) yield { path, isFolder: false };
    }
  }
}
