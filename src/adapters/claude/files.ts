/** Which files a tool touched, read from its input and from what Claude Code sends beside the result. */

import { defined } from "../../core/defined.ts";
import type { JsonObject } from "../../dialects/claude.ts";
import { isShape, isString, shapeOf } from "../../dialects/shape.ts";
import type { FileRefPart } from "../../protocol/items.ts";
import { patchDiff, textDiff } from "./diff.ts";

export function fileRefs({
  name,
  input,
  returned,
}: {
  name: string;
  input: unknown;
  returned: unknown;
}): FileRefPart[] {
  if (!isShape(input)) return [];
  const result = shapeOf(returned);
  const path = firstText(result.filePath, result.notebook_path, input.file_path, input.notebook_path);
  if (path === null) return [];
  switch (name) {
    case "Read":
      return [{ type: "file_ref", path, action: "read" }];
    case "Write":
      return [written({ path, input, result })];
    case "Edit":
    case "MultiEdit":
      return [changed({ path, diff: patchDiff({ path, hunks: result.structuredPatch }) ?? editDiff({ path, input }) })];
    case "NotebookEdit":
      return [changed({ path, diff: notebookDiff({ path, input, result }) })];
    default:
      return [];
  }
}

interface FileTool {
  readonly path: string;
  readonly input: JsonObject;
  readonly result: JsonObject;
}

function written({ path, input, result }: FileTool): FileRefPart {
  const before = isString(result.originalFile) ? result.originalFile : "";
  const after = firstText(result.content, input.content) ?? "";
  const diff = patchDiff({ path, hunks: result.structuredPatch }) ?? textDiff({ path, before, after });
  const change = result.type === "create" ? "add" : result.type === "update" ? "update" : undefined;
  return defined({ type: "file_ref", path, action: "write", diff: diff ?? undefined, change });
}

const changed = ({ path, diff }: { path: string; diff: string | null }): FileRefPart =>
  defined({ type: "file_ref", path, action: "patch", change: "update", diff: diff ?? undefined });

/** From the replaced strings alone: the place in the file is not known, so each hunk counts from its own first line. */
function editDiff({ path, input }: { path: string; input: JsonObject }): string | null {
  const edits = Array.isArray(input.edits) ? input.edits.filter(isShape) : [input];
  const hunks = edits.flatMap(({ old_string, new_string }) => {
    if (!isString(old_string) || !isString(new_string)) return [];
    return textDiff({ path, before: old_string, after: new_string }) ?? [];
  });
  const [first, ...rest] = hunks;
  if (first === undefined) return null;
  const headerLines = 2;
  return first + rest.map((hunk) => hunk.split("\n").slice(headerLines).join("\n")).join("");
}

function notebookDiff({ path, input, result }: FileTool): string | null {
  const { original_file, updated_file } = result;
  if (isString(original_file) && isString(updated_file)) {
    const whole = textDiff({ path, before: original_file, after: updated_file });
    if (whole !== null) return whole;
  }
  const before = firstText(result.old_source) ?? "";
  const after = firstText(result.new_source, input.new_source) ?? "";
  return textDiff({ path, before, after });
}

const firstText = (...values: readonly unknown[]): string | null => values.find(isString) ?? null;
