/** Tool lines → reports: a call is an item, its result another, and a call that never ran says why. */
import type { ItemHead, Report } from "../../core/report.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { type Call, messageHead, ofSubagent, type Says, type State } from "./state.ts";

export const resultKey = (callId: string): string => `${callId}/result`;

/** A message that begins with a tool call gets an empty message item, so that the call has a parent. */
export function onToolInput(state: State, line: Says<"tool.input"> | Says<"tool.call">): Report[] {
  if (state.calls.has(line.call_id)) return [];
  const out: Report[] = [];
  let parent = state.latest.get(line.message_id);
  if (parent === undefined) {
    parent = line.message_id;
    state.latest.set(line.message_id, parent);
    out.push({ type: "open", item: messageHead(state, { line, key: parent, content: [] }) });
    out.push({ type: "close", key: parent, status: "completed", content: [] });
  }
  const { subagent } = ofSubagent(state, line.subagent);
  const call: Call = {
    tool: line.tool,
    kind: line.kind,
    message_id: line.message_id,
    parent,
    subagent,
    called: false,
  };
  state.calls.set(line.call_id, call);
  const content = [callPart(call, { call_id: line.call_id, arguments: "", title: line.tool })];
  out.push({ type: "open", item: toolHead(call, { call_id: line.call_id, kind: "tool_call", content }) });
  return out;
}

const callPart = (
  call: Call,
  rest: { readonly call_id: string; readonly arguments: string; readonly title: string },
): ContentPart => ({ type: "tool_call", name: call.tool, tool_kind: call.kind, ...rest });

function toolHead(
  call: Call,
  { call_id, kind, content }: { call_id: string; kind: "tool_call" | "tool_result"; content: readonly ContentPart[] },
): ItemHead {
  return {
    key: kind === "tool_call" ? call_id : resultKey(call_id),
    native_item_id: call_id,
    kind,
    role: kind === "tool_call" ? "assistant" : "tool",
    message_id: call.message_id,
    parent: kind === "tool_call" ? call.parent : call_id,
    ...(call.subagent === undefined ? {} : { subagent: call.subagent }),
    content,
  };
}

export function onToolCall(state: State, line: Says<"tool.call">): Report[] {
  const out = onToolInput(state, line);
  const call = state.calls.get(line.call_id);
  if (call === undefined || call.called) return out;
  call.called = true;
  const { call_id, title } = line;
  const written = typeof line.input === "string" ? line.input : JSON.stringify(line.input);
  const content = [callPart(call, { call_id, arguments: written, title })];
  const result: ContentPart = { type: "tool_result", call_id, output: "", is_error: false };
  return [
    ...out,
    { type: "close", key: call_id, status: "completed", content },
    { type: "open", item: toolHead(call, { call_id, kind: "tool_result", content: [result] }) },
  ];
}

export function onToolResult(state: State, line: Says<"tool.result">): Report[] {
  state.calls.delete(line.call_id);
  const { call_id, output, is_error, exit_code } = line;
  const result: ContentPart = {
    type: "tool_result",
    call_id,
    output,
    is_error,
    ...(exit_code === undefined ? {} : { exit_code }),
  };
  const files = line.files.map(
    ({ path, action, diff, change }): ContentPart => ({
      type: "file_ref",
      path,
      action,
      ...(diff === undefined ? {} : { diff }),
      ...(change === undefined ? {} : { change }),
    }),
  );
  const status = is_error ? "failed" : "completed";
  return [{ type: "close", key: resultKey(call_id), status, content: [result, ...files] }];
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
