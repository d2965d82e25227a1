/** list: what is in a folder, as a tree. */
import { lstat } from "node:fs/promises";
import * as z from "zod";
import { enter, permitPath } from "./permits.ts";
import { defineTool, ToolFailure } from "./tool.ts";
import { walk } from "./walk.ts";

const ENTRIES = 500;
const DEPTH = 3;

export const list = defineTool({
  name: "list",
  kind: "tool",
  description: `Shows the files and folders in a folder as a tree (${DEPTH} levels unless depth says otherwise). Ignored files are left out.`,
  input: z.object({
    path: z.string().optional().describe("The folder; the working directory when absent"),
    depth: z.number().int().min(1).max(10).optional().describe("How many levels to show"),
  }),
  title: ({ path }) => path ?? ".",
  async run({ path = ".", depth = DEPTH }, context) {
    const place = await enter(context, { written: path, action: "list", tool: "list" });
    await permitPath(context, { place, action: "list", tool: "list" });
    const info = await lstat(place.path).catch(() => null);
    if (info === null) throw new ToolFailure(`${place.shown} does not exist.`);
    if (!info.isDirectory()) throw new ToolFailure(`${place.shown} is no folder: use the read tool.`);
    const lines: string[] = [];
    let cut = false;
    for await (const entry of walk({
      root: place.path,
      signal: context.signal,
      hides: context.view.hides,
      maxDepth: depth,
    })) {
      if (lines.length >= ENTRIES) {
        cut = true;
        break;
      }
      const name = entry.path.slice(entry.path.lastIndexOf("/") + 1);
      lines.push(`${"  ".repeat(entry.depth - 1)}${name}${entry.directory ? "/" : ""}`);
    }
    if (lines.length === 0) return { output: "(the folder is empty)" };
    return { output: lines.join("\n") + (cut ? `\n\n(only the first ${ENTRIES} entries are shown)` : "") };
  },
});
