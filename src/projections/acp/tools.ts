/** Tool calls, their output and their diffs, as an ACP client shows them. */
import { acpKindOf } from "../../core/acp.ts";
import type { EventOf } from "../../protocol/events.ts";
import type { FileRefPart, Item, ToolCallPart, ToolResultPart } from "../../protocol/items.ts";
import { textContent, type Update } from "./lines.ts";
import type { State, Tool } from "./state.ts";

/** Output is repeated whole with each update, so it is not sent more often than this; the end carries all of it. */
const OUTPUT_EVERY_MS = 250;

export function onCallStarted(state: State, item: Item): Update[] {
  const part = item.content.find((one) => one.type === "tool_call");
  if (part === undefined) return [];
  const tool: Tool = { id: item.item_id, title: titleOf(part), kind: acpKindOf(part), output: "", sentAt: 0 };
  state.tools.set(part.call_id, tool);
  const { id, title, kind } = tool;
  const meta = { tool: part.name, ...(item.subagent === undefined ? {} : { parent: item.subagent.parent_call_id }) };
  return [{ sessionUpdate: "tool_call", toolCallId: id, title, kind, status: "pending", _meta: { franca: meta } }];
}

const titleOf = ({ title, name }: ToolCallPart): string => (title === "" ? name : title);

export function onCallCompleted(state: State, item: Item): Update[] {
  const part = item.content.find((one) => one.type === "tool_call");
  const tool = part === undefined ? undefined : state.tools.get(part.call_id);
  if (part === undefined || tool === undefined) return [];
  const update = { sessionUpdate: "tool_call_update", toolCallId: tool.id };
  if (item.status === "failed") {
    state.tools.delete(part.call_id);
    return [{ ...update, status: "failed" }];
  }
  const rawInput = parsed(part.arguments);
  return [{ ...update, status: "in_progress", title: titleOf(part), rawInput, ...locationsIn(rawInput) }];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The file that a tool works on, by the names that agents give it. */
function locationsIn(input: unknown): { locations?: { path: string }[] } {
  if (typeof input !== "object" || input === null) return {};
  const fields: Readonly<Record<string, unknown>> = { ...input };
  const path = ["file_path", "filePath", "path", "target_file"].map((name) => fields[name]).find(isPath);
  return path === undefined ? {} : { locations: [{ path: String(path) }] };
}

const isPath = (value: unknown): boolean => typeof value === "string" && value.startsWith("/");

/** Whose output it is, by the item of its result. */
export function onOutput(state: State, event: EventOf<"item.delta">, callId: string | undefined): Update[] {
  const tool = callId === undefined ? undefined : state.tools.get(callId);
  if (tool === undefined) return [];
  tool.output += event.data.delta;
  const at = Date.parse(event.time);
  if (tool.sentAt !== 0 && at - tool.sentAt < OUTPUT_EVERY_MS) return [];
  tool.sentAt = Math.max(1, at);
  return [{ sessionUpdate: "tool_call_update", toolCallId: tool.id, content: [textItem(tool.output)] }];
}

const textItem = (text: string) => ({ type: "content", content: textContent(text) });

export function onResult(state: State, item: Item): Update[] {
  const part = item.content.find((one) => one.type === "tool_result");
  const tool = part === undefined ? undefined : state.tools.get(part.call_id);
  if (part === undefined || tool === undefined) return [];
  state.tools.delete(part.call_id);
  const files = item.content.filter((one) => one.type === "file_ref");
  const text = part.output === "" ? [] : [textItem(part.output)];
  return [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: tool.id,
      status: item.status === "completed" ? "completed" : "failed",
      content: [...files.flatMap(diffsOf), ...text],
      ...(files.length === 0 ? {} : { locations: files.map(({ path }) => ({ path })) }),
      rawOutput: rawOutput(part),
    },
  ];
}

/** Calls that never began to run, because their permission was refused or the turn was stopped before. */
export function closeUnrun(state: State, running: ReadonlySet<string>): Update[] {
  return [...state.tools].flatMap(([callId, { id }]) => {
    if (running.has(callId)) return [];
    state.tools.delete(callId);
    return [{ sessionUpdate: "tool_call_update", toolCallId: id, status: "failed" }];
  });
}

const rawOutput = ({ output, exit_code }: ToolResultPart) =>
  exit_code === undefined ? { output } : { output, exit_code };

/** One diff for each hunk: the rest of the file is not known. */
function diffsOf({ path, diff, action, change }: FileRefPart): unknown[] {
  if (diff === undefined || action === "read") return [];
  return hunksOf(diff).map(({ before, after }) => ({
    type: "diff",
    path,
    oldText: change === "add" && before === "" ? null : before,
    newText: after,
  }));
}

function hunksOf(diff: string): { readonly before: string; readonly after: string }[] {
  return diff
    .split(/^@@.*$/m)
    .slice(1)
    .map((hunk) => {
      const lines = hunk.replace(/^\n/, "").replace(/\n$/, "").split("\n");
      const side = (signs: string): string =>
        lines
          .filter((line) => signs.includes(line.charAt(0)) || line === "")
          .map((line) => line.slice(1))
          .join("\n");
      return { before: side(" -"), after: side(" +") };
    });
}
