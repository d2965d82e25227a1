/** write: a whole file, new or replaced. */
import * as z from "zod";
import { changeFile } from "./change.ts";
import { defineTool } from "./tool.ts";

export const write = defineTool({
  name: "write",
  kind: "file_change",
  description:
    "Writes a whole file and creates the folders it needs. It replaces what was there: prefer edit for a change to a " +
    "file that exists.",
  input: z.object({
    filePath: z.string().min(1).describe("The file, relative to the working directory or absolute"),
    content: z.string().describe("The whole text of the file"),
  }),
  title: ({ filePath }) => filePath,
  run: ({ filePath, content }, context) => changeFile(context, { tool: "write", filePath, rewrite: () => content }),
});
