/** Amp's older words, one line for each message, call, result and end, in the terms of the lines it prints today. */
import type { Report } from "../../core/report.ts";
import { itemHead, whole } from "../../core/report-builders.ts";
import type { AmpLineOf } from "../../dialects/amp.ts";
import { isString, shapeOf } from "../../dialects/shape.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { failure } from "./failure.ts";
import type { ToolResult, ToolUse } from "./tools.ts";

/** A message; without a role it is the assistant's. What has no id gets the given key and shows none. */
export function onMessage({ id, role, content = "" }: AmpLineOf<"message">, made: string): Report[] {
  const isUser = role === "user";
  const parts: ContentPart[] = [{ type: "text", text: textOf(content) }];
  const named = { key: id ?? made, native_item_id: id ?? null, message_id: id };
  const item = itemHead("message", { ...named, role: isUser ? "user" : "assistant", content: parts });
  return isUser ? [{ type: "begin", origin: "user" }, ...whole(item)] : whole(item);
}

export function asToolUse(line: AmpLineOf<"tool_call">, made: string): ToolUse {
  const { tool_call } = line;
  const given = tool_call === undefined ? line.arguments : tool_call.arguments;
  const name = tool_call?.name ?? line.name ?? "tool";
  return { type: "tool_use", id: tool_call?.id ?? line.id ?? made, name, input: shapeOf(parsed(given)) };
}

function parsed(given: unknown): unknown {
  if (!isString(given)) return given;
  try {
    return JSON.parse(given);
  } catch {
    return { input: given };
  }
}

/** A result that names no call answers the one that has waited longest. */
export function asToolResult(line: AmpLineOf<"tool_result">, waiting: string): ToolResult {
  const { tool_call_id, tool_call, id, content = "", is_error = false } = line;
  return { type: "tool_result", tool_use_id: tool_call_id ?? tool_call?.id ?? id ?? waiting, content, is_error };
}

export function onError({ error, content }: AmpLineOf<"error">): Report[] {
  return failure(error ?? content ?? "Amp stopped with an error.", null);
}

const textOf = (content: string | readonly { readonly text?: string | undefined }[]): string =>
  isString(content) ? content : content.map(({ text }) => text ?? "").join("\n");
