/** glob: files by name pattern, the newest first. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { compileGlob } from "../../core/glob.ts";
import { enter, permitPath } from "./permits.ts";
import { defineTool, ToolFailure } from "./tool.ts";
import { walk } from "./walk.ts";

const SHOWN = 100;
/** Beyond this many matches the order by time is given up: the pattern is too wide anyway. */
const MATCHES = 5_000;

export const glob = defineTool({
  name: "glob",
  kind: "tool",
  description:
    "Finds files by a pattern such as **/*.ts or src/{a,b}/*.json, the last changed first. Ignored files are left out.",
  input: z.object({
    pattern: z.string().min(1).describe("The pattern, relative to the folder"),
    path: z.string().optional().describe("The folder to search; the working directory when absent"),
  }),
  title: ({ pattern }) => pattern,
  async run({ pattern, path = "." }, context) {
    const place = await enter(context, { written: path, action: "glob", tool: "glob" });
    await permitPath(context, { place, action: "glob", tool: "glob" });
    // A bare name is looked for everywhere below.
    const wanted = compileGlob(pattern.includes("/") ? pattern.replace(/^\.?\//, "") : `**/${pattern}`);
    if (wanted === null) throw new ToolFailure(`${pattern} is no pattern: a brace is not closed, or it is too long.`);
    const found: { path: string; time: number }[] = [];
    const meter = { steps: 0 };
    for await (const entry of walk({ root: place.path, signal: context.signal, hides: context.view.hides, meter })) {
      if (entry.directory || !wanted.matches(entry.path, meter)) continue;
      const info = await lstat(join(place.path, entry.path)).catch(() => null);
      found.push({ path: entry.path, time: info?.mtimeMs ?? 0 });
      if (found.length >= MATCHES) break;
    }
    if (found.length === 0) return { output: "No file matches." };
    const shown = found
      .sort((left, right) => right.time - left.time || (left.path < right.path ? -1 : 1))
      .slice(0, SHOWN);
    const prefix = place.shown === "." ? "" : `${place.shown}/`;
    const rest = found.length > SHOWN ? `\n\n(${found.length - SHOWN} more match: use a narrower pattern)` : "";
    return { output: shown.map((one) => prefix + one.path).join("\n") + rest };
  },
});
