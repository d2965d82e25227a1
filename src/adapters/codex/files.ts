/** Codex's file changes → file references with a unified diff. */
import type { FileChange } from "../../dialects/codex.ts";
import type { FileRefPart } from "../../protocol/items.ts";

// Quirk: after the hunks of a moved file Codex says in words where it went.
const MOVED = "Moved to: ";

/** One reference per file that was touched; a move touches two. */
export function fileRefs(changes: readonly FileChange[]): FileRefPart[] {
  return changes.flatMap((change): FileRefPart[] => {
    const { path, kind, diff } = change;
    if (kind.type === "add") {
      return [{ type: "file_ref", path, action: "write", change: "add", diff: asHunk(diff, "+") }];
    }
    if (kind.type === "delete") {
      return [{ type: "file_ref", path, action: "write", change: "delete", diff: asHunk(diff, "-") }];
    }
    const moved = kind.move_path;
    if (typeof moved !== "string") return [{ type: "file_ref", path, action: "patch", change: "update", diff }];
    return [
      { type: "file_ref", path: moved, action: "patch", change: "move", diff: withoutMove(diff) },
      { type: "file_ref", path, action: "write", change: "delete" },
    ];
  });
}

function withoutMove(diff: string): string {
  let end = diff.indexOf(MOVED, diff.lastIndexOf("\n") + 1);
  if (end < 0) return diff;
  while (end > 0 && diff.charAt(end - 1) === "\n") end -= 1;
  return `${diff.slice(0, end)}\n`;
}

/** For a file that is added or deleted Codex gives the whole text; an update is a list of hunks already. */
function asHunk(text: string, sign: "+" | "-"): string {
  if (text === "" || text.startsWith("@@ ")) return text;
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  const range = lines.length === 1 ? "1" : `1,${lines.length}`;
  const header = sign === "+" ? `@@ -0,0 +${range} @@` : `@@ -${range} +0,0 @@`;
  return `${header}\n${lines.map((line) => `${sign}${line}`).join("\n")}\n`;
}
