/** Tool lines → reports: a call is an item, its result another, and a call that never ran says why. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import { closeCall, itemHead, openCall, resultHead, resultKey, whole } from "../../core/report-builders.ts";
import type { ContentPart, ToolCallPart } from "../../protocol/items.ts";
import { type Call, type Says, type State, subagentOf } from "./state.ts";

/** A message that begins with a tool call gets an empty message item, so that the call has a parent. */
export function onToolInput(state: State, line: Says<"tool.input"> | Says<"tool.call">): Report[] {
  const { call_id, tool, kind, message_id } = line;
  if (state.calls.has(call_id)) return [];
  const subagent = subagentOf(state, line);
  const out: Report[] = [];
  let parent = state.latest.get(message_id);
  if (parent === undefined) {
    parent = message_id;
    state.latest.set(message_id, parent);
    out.push(...whole(itemHead("message", { key: parent, message_id, subagent, content: [] })));
  }
  const call: Call = { tool, kind, message_id, parent, subagent, called: false };
  state.calls.set(call_id, call);
  out.push(openCall({ key: call_id, message_id, parent, subagent }, callPart(call, { call_id, title: tool })));
  return out;
}

const callPart = (
  call: Call,
  { call_id, title, written = "" }: { readonly call_id: string; readonly title: string; readonly written?: string },
): ToolCallPart => ({
  type: "tool_call",
  name: call.tool,
  tool_kind: call.kind,
  call_id,
  arguments: written,
  title,
});

export function onToolCall(state: State, line: Says<"tool.call">): Report[] {
  const out = onToolInput(state, line);
  const call = state.calls.get(line.call_id);
  if (call === undefined || call.called) return out;
  call.called = true;
  const { call_id, title, input } = line;
  const { message_id, subagent } = call;
  const written = typeof input === "string" ? input : JSON.stringify(input);
  out.push(closeCall(call_id, callPart(call, { call_id, title, written })));
  out.push({ type: "open", item: resultHead({ key: call_id, message_id, subagent }) });
  return out;
}

export function onToolResult(state: State, line: Says<"tool.result">): Report[] {
  state.calls.delete(line.call_id);
  const { call_id, output, is_error, exit_code } = line;
  const content: ContentPart[] = [
    defined({ type: "tool_result", call_id, output, is_error, exit_code }),
    ...line.files.map(({ path, action, diff, change }) =>
      defined({ type: "file_ref" as const, path, action, diff, change }),
    ),
  ];
  return [{ type: "close", key: resultKey(call_id), status: is_error ? "failed" : "completed", content }];
}

export function onToolError(state: State, line: Says<"tool.error">): Report[] {
  const call = state.calls.get(line.call_id);
  state.calls.delete(line.call_id);
  const { call_id, denied } = line;
  // The arguments were never complete, so there is no result to speak of.
  if (call !== undefined && !call.called) return [{ type: "close", key: call_id, status: "failed", denied }];
  const content: ContentPart[] = [{ type: "tool_result", call_id, output: line.message, is_error: true }];
  return [{ type: "close", key: resultKey(call_id), status: "failed", content, denied }];
}
