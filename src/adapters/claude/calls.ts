/** Tool calls: begun when their name is known, complete with their arguments; then their result begins. */
import type { Report } from "../../core/report.ts";
import { closeCall, itemHead, openCall, resultHead, whole } from "../../core/report-builders.ts";
import { isShape, isString } from "../../dialects/shape.ts";
import type { ToolCallPart } from "../../protocol/items.ts";
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
  const { id, parent, subagent } = message;
  const place = { key: call.id, message_id: id ?? undefined, parent: parent ?? undefined, subagent };
  return [openCall(place, callPart(call, ""))];
}

/** The arguments are complete, the tool is about to run. */
export function completeCall(state: State, { message, call }: { message: Place; call: Call }): Report[] {
  const out = beginCall(state, { message, call });
  const tool = state.tools.get(call.id);
  if (tool === undefined || tool.called) return out;
  tool.called = true;
  tool.input = call.input;
  const written = JSON.stringify(call.input ?? {});
  out.push(closeCall(call.id, callPart(call, written)));
  out.push(...planText(message, call));
  out.push({ type: "open", item: resultHead({ key: call.id, subagent: message.subagent }) });
  return out;
}

const callPart = ({ id, name, input }: Call, written: string): ToolCallPart => ({
  type: "tool_call",
  name,
  arguments: written,
  call_id: id,
  tool_kind: toolKind(name),
  title: written === "" ? name : toolTitle(name, input),
});

/** A plan is what the agent says to the person, though it is written as a tool's argument. */
function planText({ id, subagent }: Place, { id: call, name, input }: Call): Report[] {
  if (name !== "ExitPlanMode" || !isShape(input) || !isString(input.plan) || input.plan === "") return [];
  const named = { key: `${call}/plan`, native_item_id: call, message_id: id ?? undefined, subagent };
  return whole(itemHead("message", { content: [{ type: "text", text: input.plan }], ...named }));
}
