/** How write, edit and multiedit change a file: decide on the new text, ask with the diff, write, say what was done. */
import { unifiedDiff } from "./diff.ts";
import { readWhole, writeWhole } from "./files.ts";
import { enter, permitPath } from "./permits.ts";
import { type ToolContext, ToolFailure, type ToolOutcome } from "./tool.ts";

export interface Change {
  readonly tool: "write" | "edit" | "multiedit";
  readonly filePath: string;
  /** The new text, from the old one; null when the file does not exist. Throws `ToolFailure` when it cannot be. */
  readonly rewrite: (before: string | null) => string;
}

export async function changeFile(context: ToolContext, { tool, filePath, rewrite }: Change): Promise<ToolOutcome> {
  const place = await enter(context, { written: filePath, action: "edit", tool });
  return context.files.exclusive(place.path, async () => {
    const before = await readWhole(place);
    const known = context.files.seen.get(place.path);
    if (tool === "write" && before !== null && known !== undefined && known !== before.stamp) {
      throw new ToolFailure(`${place.shown} has changed since it was read. Read it again before you replace it.`);
    }
    const after = rewrite(before?.text ?? null);
    const diff = unifiedDiff({ path: place.shown, before: before?.text ?? "", after });
    await permitPath(context, { place, action: "edit", tool, metadata: { diff } });
    context.signal.throwIfAborted();

    const now = await readWhole(place);
    if (now?.text !== before?.text) {
      throw new ToolFailure(`${place.shown} changed while permission was asked. Read it again.`);
    }
    context.files.seen.set(place.path, await writeWhole(place, after));
    const isNew = before === null;
    return {
      output: `${isNew ? "Created" : "Changed"} ${place.shown}.${diff === "" ? " The text is as it was." : `\n\n${diff}`}`,
      files: [
        {
          path: place.path,
          action: tool === "write" ? "write" : "patch",
          diff,
          change: isNew ? "add" : "update",
        },
      ],
    };
  });
}
