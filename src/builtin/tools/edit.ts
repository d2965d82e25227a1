/** edit and multiedit: exact replacements in a file that exists. */
import * as z from "zod";
import { changeFile } from "./change.ts";
import { type Replacement, replaceText } from "./replace.ts";
import { defineTool, ToolFailure } from "./tool.ts";

const replacement = {
  oldString: z.string().describe("The text to replace, exactly as it is in the file"),
  newString: z.string().describe("The text to put in its place"),
  replaceAll: z.boolean().optional().describe("Replace every place where it occurs, not just the only one"),
};

export const edit = defineTool({
  name: "edit",
  kind: "file_change",
  description:
    "Replaces a piece of text in a file. oldString must be in the file exactly once, white space included, unless " +
    "replaceAll is set.",
  input: z.object({ filePath: z.string().min(1).describe("The file to change"), ...replacement }),
  title: ({ filePath }) => filePath,
  run: ({ filePath, ...change }, context) =>
    changeFile(context, {
      tool: "edit",
      filePath,
      rewrite: (before) => rewriteAll({ filePath, before, edits: [change] }),
    }),
});

export const multiedit = defineTool({
  name: "multiedit",
  kind: "file_change",
  description:
    "Makes several replacements in one file, one after the other, each on what the one before left. Either all are " +
    "made or none.",
  input: z.object({
    filePath: z.string().min(1).describe("The file to change"),
    edits: z.array(z.object(replacement)).min(1).max(200),
  }),
  title: ({ filePath, edits }) => `${filePath} (${edits.length} edits)`,
  run: ({ filePath, edits }, context) =>
    changeFile(context, { tool: "multiedit", filePath, rewrite: (before) => rewriteAll({ filePath, before, edits }) }),
});

function rewriteAll({
  filePath,
  before,
  edits,
}: {
  filePath: string;
  before: string | null;
  edits: readonly Replacement[];
}): string {
  if (before === null) throw new ToolFailure(`${filePath} does not exist. Use the write tool to create it.`);
  let text = before;
  for (const [index, change] of edits.entries()) {
    const replaced = replaceText(text, change);
    if (!replaced.ok) {
      const which = edits.length === 1 ? "" : `Edit ${index + 1} of ${edits.length}, so none was made: `;
      throw new ToolFailure(`${which}${replaced.message}`);
    }
    text = replaced.text;
  }
  return text;
}
