/** What OpenCode's clients draw beside a tool's input and output: diffs, exit codes, running output, a title. */

import { defined } from "../../core/defined.ts";
import { countChanges, unifiedDiff } from "../../core/diff.ts";
import type { FileRefPart, ToolResultPart } from "../../protocol/items.ts";
import type { ToolEntry } from "./state.ts";
import { firstText, recordOf } from "./tools.ts";

type Metadata = Record<string, unknown>;

export function titleOf(entry: ToolEntry, directory: string): string {
  const { tool, input } = entry;
  const file = firstText(input, ["filePath"]);
  if (file !== "") return relativePath({ path: file, directory });
  if (tool === "bash") return firstText(input, ["command", "description"]);
  if (tool === "question")
    return `Asked ${countOf(input.questions)} question${countOf(input.questions) === 1 ? "" : "s"}`;
  if (tool === "todowrite") return `${openTodos(input.todos)} todos`;
  if (tool === "task") return firstText(input, ["description"]) || entry.title;
  const named = firstText(input, ["pattern", "query", "url", "path", "name"]);
  return named || entry.title || entry.native;
}

const countOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

const openTodos = (todos: unknown): number =>
  Array.isArray(todos) ? todos.filter((todo) => recordOf(todo).status !== "completed").length : 0;

/** Undefined while there is nothing to say. */
export function runningMetadata(entry: ToolEntry): Metadata | undefined {
  if (entry.child === null) return entry.output === "" ? undefined : { output: entry.output };
  const metadata = childMetadata(entry);
  if (entry.output !== "") metadata.output = entry.output;
  return metadata;
}

export function finalMetadata({
  entry,
  result,
  files,
  directory,
}: {
  entry: ToolEntry;
  result: ToolResultPart | null;
  files: readonly FileRefPart[];
  directory: string;
}): Metadata {
  const metadata = childMetadata(entry);
  metadata.truncated = false;
  switch (entry.tool) {
    case "bash":
      metadata.output = bounded(result?.output ?? entry.output);
      metadata.exit = result?.exit_code;
      break;
    case "edit":
      return Object.assign(metadata, editMetadata({ entry, files, directory }), { diagnostics: {} });
    case "write":
      return Object.assign(metadata, writeMetadata({ entry, files, directory }), { diagnostics: {} });
    case "apply_patch":
      metadata.files = files.map((file) => patchedFile({ file, directory }));
      metadata.diagnostics = {};
      break;
    case "todowrite":
      metadata.todos = entry.input.todos ?? [];
      break;
    case "read":
      metadata.loaded = [];
      break;
    case "question":
      metadata.answers = entry.answers ?? undefined;
      break;
    default:
  }
  return metadata;
}

/** Which child session a subagent's call began: clients open it from here. */
const childMetadata = (entry: ToolEntry): Metadata =>
  entry.child === null ? {} : { sessionId: entry.child, parentSessionId: entry.session };

interface Edited {
  readonly entry: ToolEntry;
  readonly files: readonly FileRefPart[];
  readonly directory: string;
}

function editMetadata({ entry, files, directory }: Edited): Metadata {
  const withDiff = files.find((file) => file.diff !== undefined);
  const named = firstText(entry.input, ["filePath"]) || (withDiff?.path ?? files[0]?.path ?? "");
  const file = absolutePath({ path: named, directory });
  const before = entry.input.oldString;
  const after = entry.input.newString;
  const made =
    typeof before === "string" && typeof after === "string" ? unifiedDiff({ path: file, before, after }) : undefined;
  const diff = withDiff?.diff ?? made;
  if (diff === undefined) return {};
  return { diff, filediff: { file, patch: diff, ...countChanges(diff) } };
}

function writeMetadata({ entry, files, directory }: Edited): Metadata {
  const [file] = files;
  const filepath = absolutePath({ path: firstText(entry.input, ["filePath"]) || (file?.path ?? ""), directory });
  const exists = file?.change === undefined ? undefined : file.change !== "add";
  return defined({ filepath, exists });
}

function patchedFile({ file, directory }: { file: FileRefPart; directory: string }): Metadata {
  const patch = file.diff ?? "";
  return {
    type: file.change ?? "update",
    filePath: file.path,
    relativePath: relativePath({ path: file.path, directory }),
    diff: patch,
    patch,
    ...countChanges(patch),
  };
}

export function relativePath({ path, directory }: { path: string; directory: string }): string {
  const base = directory.endsWith("/") ? directory : `${directory}/`;
  return directory !== "" && path.startsWith(base) ? path.slice(base.length) : path;
}

export function absolutePath({ path, directory }: { path: string; directory: string }): string {
  if (path.startsWith("/") || directory === "") return path;
  return `${directory.endsWith("/") ? directory.slice(0, -1) : directory}/${path}`;
}

/** As OpenCode bounds what it repeats in metadata. */
const OUTPUT_LIMIT = 30_000;

/** The end is what a person watches. */
export const bounded = (text: string): string => (text.length <= OUTPUT_LIMIT ? text : text.slice(-OUTPUT_LIMIT));
