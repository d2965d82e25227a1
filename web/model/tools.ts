/** What a tool call is about in a few words: its target, its outcome, and the change it wants to make. */
import { unifiedDiff } from "../../src/core/diff.ts";
import { isTooDeep } from "../../src/core/json.ts";
import type { ToolKind } from "../../src/protocol/items.ts";
import { shortPath } from "./words.ts";

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function parsedInput(text: string): Fields {
  if (text === "") return {};
  if (isTooDeep(text)) return { input: text };
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : { value };
  } catch {
    // Still being written.
    return {};
  }
}

const textOf = (fields: Fields, ...names: readonly string[]): string | null => {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return value;
    if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"))
      return value.join(" ");
  }
  return null;
};

export const commandOf = (input: Fields): string | null => textOf(input, "command", "cmd", "script");

export const pathOf = (input: Fields): string | null =>
  textOf(input, "file_path", "filePath", "path", "notebook_path", "file", "filename");

interface Target {
  readonly kind: ToolKind;
  readonly title: string;
  readonly name: string;
  readonly input: Fields;
  readonly directory: string | null;
}

/** What the line of a tool shows after its name. */
export function targetOf({ kind, title, name, input, directory }: Target): string {
  if (kind === "command") return commandOf(input) ?? title;
  if (kind === "subagent") return textOf(input, "description", "prompt") ?? title;
  if (kind === "web_search") return textOf(input, "query", "url", "q") ?? title;
  const pattern = textOf(input, "pattern", "query", "regex");
  const path = pathOf(input);
  if (pattern !== null) return path === null ? pattern : `${pattern} in ${shortPath(path, directory)}`;
  if (path !== null) return shortPath(path, directory);
  return title === name ? "" : title;
}

/** The change a call would make, where its input says so; null where it does not. */
export function wantedDiff(input: Fields, directory: string | null): string | null {
  const given = textOf(input, "diff", "patch", "unified_diff", "unifiedDiff");
  if (given?.includes("@@") === true) return given;
  const path = shortPath(pathOf(input) ?? "file", directory);
  const { edits } = input;
  if (Array.isArray(edits)) {
    const parts = edits.filter(isFields).map((edit) => replaced(edit, path));
    return parts.length === 0 || parts.includes(null) ? null : parts.join("");
  }
  const one = replaced(input, path);
  if (one !== null) return one;
  const content = input.content ?? input.new_source ?? input.contents;
  return typeof content === "string" && pathOf(input) !== null
    ? unifiedDiff({ path, before: "", after: content })
    : null;
}

function replaced(edit: Fields, path: string): string | null {
  const before = edit.old_string ?? edit.oldString ?? edit.old_text;
  const after = edit.new_string ?? edit.newString ?? edit.new_text;
  return typeof before === "string" && typeof after === "string" ? unifiedDiff({ path, before, after }) : null;
}

/** The count that a tool's output amounts to, for its one line. */
export function outcomeOf(output: string): string {
  if (output === "") return "";
  const all = output.split("\n");
  const lines = all.findLastIndex((line) => line !== "") + 1;
  return lines <= 1 ? "1 line" : `${lines} lines`;
}
