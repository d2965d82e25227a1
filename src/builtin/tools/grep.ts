/** grep: lines that match a regular expression. */
import { lstat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as z from "zod";
import { compileGlob } from "../../core/glob.ts";
import type { Place } from "../../runtime/confine.ts";
import { type Match, searchFiles } from "../../runtime/search.ts";
import { enter, permitPath } from "./permits.ts";
import { ripgrep } from "./ripgrep.ts";
import { defineTool, type ToolContext, ToolFailure } from "./tool.ts";
import { walk } from "./walk.ts";

const SHOWN = 100;
const LINE_LENGTH = 500;
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
    hides: context.view.hides,
  });

async function withoutRipgrep(
  { pattern, include, place, isFile }: Search,
  { signal, view }: ToolContext,
): Promise<readonly Match[]> {
  const root = isFile ? dirname(place.path) : place.path;
  const files: string[] = [];
  if (isFile) {
    files.push(basename(place.path));
  } else {
    const wanted = include === null ? null : compileGlob(include.includes("/") ? include : `**/${include}`);
    const meter = { steps: 0 };
    for await (const entry of walk({ root, signal, hides: view.hides, meter })) {
      if (!entry.directory && (wanted === null || wanted.matches(entry.path, meter))) files.push(entry.path);
    }
  }
  // One more match than is shown says that there are more.
  const bounds = { limit: SHOWN + 1, lineLength: LINE_LENGTH, timeoutMs: TIMEOUT_MS };
  const searched = await searchFiles({ root, files, pattern, ...bounds, signal });
  if (searched.type === "found" && searched.complete) return searched.matches;
  if (searched.type === "unreadable") throw new ToolFailure(`The pattern cannot be read: ${searched.message}.`);
  throw new ToolFailure(`The search was stopped after ${TIMEOUT_MS / 1_000} s. Use a simpler pattern or fewer files.`);
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
