/** Tool items of `codex exec --json` → the parts of a call and of its result. */
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { ExecItem, ExecItemOf } from "../../dialects/codex-exec.ts";
import { isOneOf, isShape, isString } from "../../dialects/shape.ts";
import type { ContentPart, ToolCallPart, ToolKind } from "../../protocol/items.ts";

export type ToolItem = ExecItemOf<
  "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search"
>;

const isToolType = isOneOf(["command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"]);

export const isTool = (item: ExecItem): item is ToolItem => isToolType(item.type);

export function callPart(item: ToolItem): ToolCallPart {
  const { name, kind, title, input } = describe(item);
  const call_id = item.id;
  return { type: "tool_call", name, call_id, arguments: JSON.stringify(input), tool_kind: kind, title };
}

function describe(item: ToolItem): { name: string; kind: ToolKind; title: string; input: unknown } {
  switch (item.type) {
    case "command_execution": {
      const command = unwrapped(item.command);
      return { name: "shell", kind: "command", title: command, input: { command } };
    }
    case "file_change": {
      const title = item.changes.map(({ path }) => path).join(", ");
      return { name: "apply_patch", kind: "file_change", title, input: { changes: item.changes } };
    }
    case "mcp_tool_call": {
      const name = `${item.server}.${item.tool}`;
      return { name, kind: "tool", title: name, input: item.arguments ?? {} };
    }
    case "collab_tool_call": {
      const kind = item.tool === "spawn_agent" ? "subagent" : "tool";
      return { name: item.tool, kind, title: item.prompt ?? item.tool, input: { prompt: item.prompt ?? "" } };
    }
    case "web_search":
      return { name: "web_search", kind: "web_search", title: item.query, input: { query: item.query } };
    default:
      return unreachable(item);
  }
}

/** The wrapper is always a login shell with one quoted script. */
function unwrapped(command: string): string {
  const [, quoted] = /^\S*sh -l?c '(.*)'$/s.exec(command) ?? [];
  return quoted === undefined ? command : quoted.replaceAll("'\\''", "'");
}

export interface Result {
  readonly content: readonly ContentPart[];
  readonly isError: boolean;
  readonly denied: boolean;
}

export function resultParts(item: ToolItem): Result {
  const denied = "status" in item && item.status === "declined";
  const isError = "status" in item && item.status !== "completed";
  const parts = (output: string, more: readonly ContentPart[] = []): Result => ({
    content: [{ type: "tool_result", call_id: item.id, output, is_error: isError }, ...more],
    isError,
    denied,
  });
  switch (item.type) {
    case "command_execution":
      return commandResult(item, { denied });
    case "file_change":
      return parts("", isError ? [] : item.changes.map(fileRef));
    case "mcp_tool_call":
      return parts(item.error?.message ?? textOf(item.result));
    case "collab_tool_call":
      return parts(textOf(item.agents_states));
    case "web_search":
      return parts("");
    default:
      return unreachable(item);
  }
}

function commandResult(item: ExecItemOf<"command_execution">, { denied }: { denied: boolean }): Result {
  const { exit_code, status, aggregated_output } = item;
  const isError = typeof exit_code === "number" ? exit_code !== 0 : status !== "completed";
  const result = { type: "tool_result" as const, call_id: item.id, output: aggregated_output, is_error: isError };
  return { content: [{ ...result, ...defined({ exit_code: exit_code ?? undefined }) }], isError, denied };
}

/** The paths and what happened to them are reported, the diff is not. */
function fileRef({ path, kind }: { path: string; kind: "add" | "delete" | "update" }): ContentPart {
  return { type: "file_ref", path, action: kind === "update" ? "patch" : "write", change: kind };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (isString(value)) return value;
  if (isShape(value) && Array.isArray(value.content)) return value.content.map(textOf).join("\n");
  if (isShape(value) && isString(value.text)) return value.text;
  return JSON.stringify(value);
}
