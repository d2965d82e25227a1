/** The reports that every adapter makes, written once: heads of items, whole items, tool calls with their results. */
import type { ErrorInfo } from "../protocol/events.ts";
import type { ContentPart, ItemKind, ItemRole, ToolCallPart } from "../protocol/items.ts";
import type { CloseReport, ItemHead, OpenReport, Report, UsageReport } from "./report.ts";

/** How an item is named. Without a native id the key is one: `null` says that the agent gave none. */
export type Named = Pick<ItemHead, "key" | "message_id" | "parent" | "subagent"> &
  Partial<Pick<ItemHead, "native_item_id">>;

const usualRoles: Readonly<Record<ItemKind, ItemRole>> = {
  message: "assistant",
  tool_call: "assistant",
  tool_result: "tool",
  system: "system",
  status: "system",
  unknown: "system",
};

/** The head of an item; its role follows from its kind where none is given. */
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
  itemHead("status", { ...named, content: [statusPart(label, detail)] });

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
  const item = itemHead("message", { native_item_id: null, content: [{ type: "text", text: "" }], ...named });
  return [
    { type: "open", item, synthetic },
    { type: "close", key: item.key, status: "completed" },
  ];
}

/** The key of a call's result, by the key of the call. */
export const resultKey = (call: string): string => `${call}/result`;

/** A call begins: its arguments come with its close. */
export const openCall = (call: Named, part: ToolCallPart): OpenReport => ({
  type: "open",
  item: itemHead("tool_call", { ...call, content: [{ ...part, arguments: "" }] }),
});

/** The arguments are complete. */
export const closeCall = (key: string, part: ToolCallPart): CloseReport => ({
  type: "close",
  key,
  status: "completed",
  content: [part],
});

/** The item of a call's result. What is given of the call holds for the result too. */
export const resultHead = ({ key, ...call }: Omit<Named, "parent">, call_id: string = key): ItemHead =>
  itemHead("tool_result", {
    native_item_id: key,
    ...call,
    key: resultKey(key),
    parent: key,
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
