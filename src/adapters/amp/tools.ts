/** Amp's tools: what kind each is, and what its result says behind the JSON that it is wrapped in. */
import { defined } from "../../core/defined.ts";
import { parseJson } from "../../core/json.ts";
import type { AmpBlock, AmpUserBlock } from "../../dialects/amp.ts";
import { isInteger, isShape, isString, type Shape, stringOf } from "../../dialects/shape.ts";
import type { Todo } from "../../protocol/events.ts";
import type { ContentPart, ToolCallPart, ToolKind } from "../../protocol/items.ts";

export type ToolUse = Extract<AmpBlock, { type: "tool_use" }>;
export type ToolResult = Extract<AmpUserBlock, { type: "tool_result" }>;

const kinds: ReadonlyMap<string, ToolKind> = new Map<string, ToolKind>([
  ["Bash", "command"],
  ["shell_command", "command"],
  ["edit_file", "file_change"],
  ["create_file", "file_change"],
  ["apply_patch", "file_change"],
  ["undo_edit", "file_change"],
  ["web_search", "web_search"],
  ["read_web_page", "web_search"],
  ["todo_write", "note"],
  ["todo_read", "note"],
  ["Task", "subagent"],
]);

const TITLE_KEYS = ["cmd", "command", "path", "description", "query", "pattern", "url"] as const;

export function callPart({ id, name, input }: ToolUse): ToolCallPart {
  const title = TITLE_KEYS.map((key) => input[key]).find(isString);
  return {
    type: "tool_call",
    name,
    call_id: id,
    arguments: JSON.stringify(input),
    tool_kind: kinds.get(name) ?? "tool",
    title: title ?? name,
  };
}

export function resultContent(
  use: ToolUse | undefined,
  result: ToolResult,
): { content: ContentPart[]; failed: boolean } {
  const text = textOf(result);
  const returned = parse(text);
  const exit_code = isInteger(returned?.exitCode) ? returned.exitCode : undefined;
  // Quirk: a command that exits non-zero is no error for Amp (transcripts/amp/h1-parallel).
  const failed = result.is_error === true || (exit_code !== undefined && exit_code !== 0);
  const output = outputIn(returned) ?? text;
  const part = defined({ type: "tool_result", call_id: result.tool_use_id, output, is_error: failed, exit_code });
  return { content: failed ? [part] : [part, ...filesOf(use, returned)], failed };
}

const textOf = ({ content }: ToolResult): string =>
  typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");

/** Results are JSON in a string for most tools. */
function parse(text: string): Shape | null {
  if (!text.startsWith("{")) return null;
  try {
    const value: unknown = parseJson(text);
    return isShape(value) ? value : null;
  } catch {
    return null;
  }
}

/** What a person would call the output; anything else stays as it came. */
function outputIn(returned: Shape | null): string | null {
  if (returned === null) return null;
  if (isString(returned.output)) return returned.output;
  if (isString(returned.absolutePath) && isString(returned.content)) return returned.content;
  return isString(returned.diff) ? unfenced(returned.diff) : null;
}

const unfenced = (diff: string): string => diff.replace(/^```diff\n/, "").replace(/\n```$/, "\n");

function filesOf(use: ToolUse | undefined, returned: Shape | null): ContentPart[] {
  const path = use?.input.path;
  if (use === undefined || !isString(path)) return [];
  switch (use.name) {
    case "Read":
      return [{ type: "file_ref", path, action: "read" }];
    case "create_file":
      return [{ type: "file_ref", path, action: "write" }];
    case "edit_file": {
      const diff = returned?.diff;
      const known = isString(diff) ? unfenced(diff) : undefined;
      return [defined({ type: "file_ref", path, action: "patch", change: "update", diff: known })];
    }
    default:
      return [];
  }
}

const todoStates: ReadonlyMap<unknown, Todo["status"]> = new Map<unknown, Todo["status"]>([
  ["todo", "pending"],
  ["in-progress", "in_progress"],
  ["completed", "completed"],
]);

/** The list that a finished `todo_write` has set; older builds have this tool. */
export function todosOf(use: ToolUse | undefined, result: ToolResult): Todo[] | null {
  if (use?.name !== "todo_write" || result.is_error === true || !Array.isArray(use.input.todos)) return null;
  return use.input.todos.filter(isShape).flatMap(({ id, content, status, priority }, index): Todo[] => {
    if (!isString(content)) return [];
    const known = todoStates.get(status) ?? "pending";
    const named = stringOf(id) ?? String(index + 1);
    return [defined({ id: named, content, status: known, priority: stringOf(priority) })];
  });
}
