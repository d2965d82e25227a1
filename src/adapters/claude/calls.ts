/** Tool calls: begun when their name is known, complete with their arguments; then their result begins. */
import type { ItemHead, Report } from "../../core/report.ts";
import { isObject, isText } from "../../dialects/claude-guard.ts";
import type { ContentPart, Subagent, ToolCallPart } from "../../protocol/items.ts";
import type { Message, State } from "./state.ts";
import { toolKind, toolTitle } from "./tools.ts";

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

type Place = Pick<Message, "id" | "parent" | "subagent">;

/** The call's name is known, its arguments are still being written. */
export function beginCall(state: State, { message, call }: { message: Place; call: Call }): Report[] {
  if (state.tools.has(call.id)) return [];
  state.tools.set(call.id, { name: call.name, input: {}, subagent: message.subagent, called: false });
  return [{ type: "open", item: callHead(message, callPart(call, "")) }];
}

/** The arguments are complete, the tool is about to run. */
export function completeCall(state: State, { message, call }: { message: Place; call: Call }): Report[] {
  const out = beginCall(state, { message, call });
  const tool = state.tools.get(call.id);
  if (tool === undefined || tool.called) return out;
  tool.called = true;
  tool.input = call.input;
  const written = JSON.stringify(call.input ?? {});
  out.push({ type: "close", key: call.id, status: "completed", content: [callPart(call, written)] });
  out.push(...planText(message, call));
  out.push({ type: "open", item: resultHead({ call: call.id, subagent: message.subagent }) });
  return out;
}

export const resultKey = (call: string): string => `${call}/result`;

export const resultHead = ({ call, subagent }: { call: string; subagent: Subagent | undefined }): ItemHead => ({
  key: resultKey(call),
  native_item_id: call,
  kind: "tool_result",
  role: "tool",
  parent: call,
  ...(subagent === undefined ? {} : { subagent }),
  content: [{ type: "tool_result", call_id: call, output: "", is_error: false }],
});

const callPart = ({ id, name, input }: Call, written: string): ToolCallPart => ({
  type: "tool_call",
  name,
  arguments: written,
  call_id: id,
  tool_kind: toolKind(name),
  title: written === "" ? name : toolTitle(name, input),
});

const callHead = ({ id, parent, subagent }: Place, part: ToolCallPart): ItemHead => ({
  key: part.call_id,
  native_item_id: part.call_id,
  kind: "tool_call",
  role: "assistant",
  ...(id === null ? {} : { message_id: id }),
  ...(parent === null ? {} : { parent }),
  ...(subagent === undefined ? {} : { subagent }),
  content: [part],
});

/** A plan is what the agent says to the person, though it is written as a tool's argument. */
function planText({ id, subagent }: Place, { id: call, name, input }: Call): Report[] {
  if (name !== "ExitPlanMode" || !isObject(input) || !isText(input.plan) || input.plan === "") return [];
  const key = `${call}/plan`;
  const content: ContentPart[] = [{ type: "text", text: input.plan }];
  const item: ItemHead = {
    key,
    native_item_id: call,
    kind: "message",
    role: "assistant",
    ...(id === null ? {} : { message_id: id }),
    ...(subagent === undefined ? {} : { subagent }),
    content: [{ type: "text", text: "" }],
  };
  return [
    { type: "open", item },
    { type: "close", key, status: "completed", content },
  ];
}
