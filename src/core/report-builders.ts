/** The reports that every adapter makes, written once: heads of items, whole items, tool calls with their results. */
import type { ErrorInfo } from "../protocol/events.ts";
import type { ContentPart, ItemKind, ItemRole, ToolCallPart } from "../protocol/items.ts";
import type { CloseReport, ItemHead, OpenReport, Report, UsageReport } from "./report.ts";

/** How an item is named. Without a native id the key is one: `null` says that the agent gave none. */
export type Named = Pick<ItemHead, "key" | "message_id" | "parent" | "subagent"> & {
  readonly native_item_id?: string | null | undefined;
};

const usualRoles: Readonly<Record<ItemKind, ItemRole>> = {
  message: "assistant",
  tool_call: "assistant",
  tool_result: "tool",
  system: "system",
  status: "system",
  unknown: "system",
};

/**
 * The head of an item; its role follows from its kind where none is given. Give `...named` last: to add a field to a
 * copied object takes the engine a microsecond.
 */
export const itemHead = (
  kind: ItemKind,
  named: Named & { readonly content: readonly ContentPart[]; readonly role?: ItemRole },
): ItemHead => ({
  key: named.key,
  native_item_id: named.native_item_id === undefined ? named.key : named.native_item_id,
  kind,
  role: named.role ?? usualRoles[kind],
  message_id: named.message_id,
  parent: named.parent,
  subagent: named.subagent,
  content: named.content,
});

/** A status item: a label, and a detail where there is one. */
export const statusHead = ({
  label,
  detail = "",
  ...named
}: Named & { readonly label: string; readonly detail?: string | undefined }): ItemHead =>
  itemHead("status", { content: [statusPart(label, detail)], ...named });

export const statusPart = (label: string, detail: string): ContentPart =>
  detail === "" ? { type: "status", label } : { type: "status", label, detail };

/** An item that comes all at once. The text of an assistant's begins empty, since it is sent as a delta too. */
export function whole(item: ItemHead, status: CloseReport["status"] = "completed"): Report[] {
  const begun = item.role === "assistant" ? { ...item, content: item.content.map(withoutText) } : item;
  return [
    { type: "open", item: begun },
    { type: "close", key: item.key, status, content: item.content },
  ];
}

/** An item begins empty where what it says is sent by deltas. */
export const withoutText = (part: ContentPart): ContentPart =>
  part.type === "text" || part.type === "reasoning" ? { ...part, text: "" } : part;

/** A native message that begins with a tool call gets an empty message item, so that the call has a parent. */
export function emptyMessage(
  named: Named & { readonly content?: readonly ContentPart[] },
  { synthetic }: { readonly synthetic: boolean },
): Report[] {
  const { key, native_item_id = null, message_id, parent, subagent, content = [{ type: "text", text: "" }] } = named;
  const item = itemHead("message", { key, native_item_id, message_id, parent, subagent, content });
  return [
    { type: "open", item, synthetic },
    { type: "close", key: item.key, status: "completed" },
  ];
}

/** The key of a call's result, by the key of the call. */
export const resultKey = (call: string): string => `${call}/result`;

/** The item of a call that begins: its arguments come with its close. */
export function callHead({ key, native_item_id, message_id, parent, subagent }: Named, part: ToolCallPart): ItemHead {
  const content = [part.arguments === "" ? part : { ...part, arguments: "" }];
  return itemHead("tool_call", { key, native_item_id, message_id, parent, subagent, content });
}

/** A call begins. */
export const openCall = (call: Named, part: ToolCallPart): OpenReport => ({ type: "open", item: callHead(call, part) });

/** The arguments are complete. */
export const closeCall = (key: string, part: ToolCallPart): CloseReport => ({
  type: "close",
  key,
  status: "completed",
  content: [part],
});

/** The item of a call's result. What is given of the call holds for the result too. */
export const resultHead = (call: Omit<Named, "parent">, call_id: string = call.key): ItemHead =>
  itemHead("tool_result", {
    key: resultKey(call.key),
    native_item_id: call.native_item_id === undefined ? call.key : call.native_item_id,
    message_id: call.message_id,
    parent: call.key,
    subagent: call.subagent,
    content: [{ type: "tool_result", call_id, output: "", is_error: false }],
  });

/** One model call at its end. */
export const stepUsage = (usage: Omit<UsageReport, "type" | "scope" | "mode">): UsageReport => ({
  type: "usage",
  scope: "step",
  mode: "add",
  ...usage,
});

/** The turn ends by an error; the machine emits the error before it. */
export const failedEnd = (error: ErrorInfo): Report[] => [{ type: "end", reason: "error", error, says: true }];
