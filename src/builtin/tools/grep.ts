/** grep: lines that match a regular expression. */
import { lstat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { z } from "zod";
import type { Place } from "../permission/confine.ts";
import { globExpression } from "./ignore.ts";
import { enter, permitPath } from "./permits.ts";
import { ripgrep } from "./ripgrep.ts";
import { type Match, searchFiles } from "./search.ts";
import { defineTool, type ToolContext, ToolFailure } from "./tool.ts";
import { walk } from "./walk.ts";

const SHOWN = 100;
const TIMEOUT_MS = 20_000;

interface Search {
  readonly pattern: string;
  readonly include: string | null;
  readonly place: Place;
  readonly isFile: boolean;
}

export const grep = defineTool({
  name: "grep",
  kind: "tool",
  description:
    "Searches the contents of files for a regular expression and returns the lines with their places. include bounds " +
    "the files by a pattern such as *.ts. Ignored files are left out.",
  input: z.object({
    pattern: z.string().min(1).describe("The regular expression"),
    path: z.string().optional().describe("The folder or file to search; the working directory when absent"),
    include: z.string().optional().describe("Only files whose name matches this pattern"),
  }),
  title: ({ pattern }) => pattern,
  async run({ pattern, path = ".", include }, context) {
    const place = await enter(context, { written: path, action: "grep", tool: "grep" });
    await permitPath(context, { place, action: "grep", tool: "grep" });
    const info = await lstat(place.path).catch(() => null);
    if (info === null) throw new ToolFailure(`${place.shown} does not exist.`);
    const search = { pattern, include: include ?? null, place, isFile: info.isFile() };
    const found = context.ripgrep === null ? await withoutRipgrep(search, context) : await withRipgrep(search, context);
    return { output: describe(found, search) };
  },
});

const withRipgrep = ({ pattern, include, place, isFile }: Search, context: ToolContext): Promise<readonly Match[]> =>
  ripgrep({
    program: context.ripgrep ?? "rg",
    root: isFile ? dirname(place.path) : place.path,
    target: isFile ? basename(place.path) : ".",
    pattern,
    include,
    limit: SHOWN,
    timeoutMs: TIMEOUT_MS,
    signal: context.signal,
  });

async function withoutRipgrep(
  { pattern, include, place, isFile }: Search,
  { signal }: ToolContext,
): Promise<readonly Match[]> {
  const root = isFile ? dirname(place.path) : place.path;
  const files: string[] = [];
  if (isFile) {
    files.push(basename(place.path));
  } else {
    const wanted = include === null ? null : globExpression(include.includes("/") ? include : `**/${include}`);
    for await (const entry of walk({ root, signal })) {
      if (!entry.directory && (wanted === null || wanted.test(entry.path))) files.push(entry.path);
    }
  }
  return searchFiles({ root, files, pattern, limit: SHOWN, timeoutMs: TIMEOUT_MS, signal });
}

function describe(found: readonly Match[], { place, isFile }: Search): string {
  if (found.length === 0) return "No line matches.";
  const folder = isFile ? dirname(place.shown) : place.shown;
  const prefix = folder === "." ? "" : `${folder}/`;
  const lines: string[] = [];
  let file = "";
  for (const { path, line, text } of found.slice(0, SHOWN)) {
    if (path !== file) lines.push(`${lines.length === 0 ? "" : "\n"}${prefix}${path}`);
    file = path;
    lines.push(`  ${line}: ${text}`);
  }
  if (found.length > SHOWN) lines.push(`\n(more than ${SHOWN} lines match: use a narrower pattern or path)`);
  return lines.join("\n");
}
