/** The ledger of items: who is open, who is closed, and the deltas that must add up to what was said. */
import { type ItemId, itemId } from "../protocol/ids.ts";
import type { ContentPart, Item, ItemStatus } from "../protocol/items.ts";
import { addOpen, callIdOf, deleteOpen, isTool } from "./background.ts";
import { textPart, withText } from "./content.ts";
import {
  asReported,
  type EmitOptions,
  emit,
  type Ledger,
  type MachineOutput,
  type MachineState,
  made,
  type OpenItem,
} from "./machine-state.ts";
import type { CloseReport, DeltaKind, DeltaReport, ItemHead } from "./report.ts";

export const startLedger = (): Ledger => ({
  open: new Map(),
  closed: new Map(),
  older: new Map(),
  deltaItem: null,
  byWork: new Map(),
  foregroundTools: 0,
  count: 0,
});

/** A turn begins: what the turn before last closed is forgotten. */
export function turnPage(ledger: Ledger): void {
  ledger.older = ledger.closed;
  ledger.closed = new Map();
}

export function forgetClosed(ledger: Ledger): void {
  ledger.closed = new Map();
  ledger.older = new Map();
}

export const isKnown = (ledger: Ledger, key: string): boolean =>
  ledger.open.has(key) || ledger.closed.has(key) || ledger.older.has(key);

export function openItem(
  state: MachineState,
  out: MachineOutput[],
  { head, options }: { head: ItemHead; options: EmitOptions },
): void {
  const { ledger } = state;
  if (isKnown(ledger, head.key)) return;
  ledger.count += 1;
  const item: OpenItem = {
    item_id: itemId(state.session, ledger.count),
    parent_id: head.parent === undefined ? null : idOf(ledger, head.parent),
    head,
    content: head.content,
    inBackground: false,
    text: "",
    part: null,
  };
  addOpen(state, item);
  emit(state, out, { type: "item.started", data: { item: itemAs(item, "in_progress") } }, options);
}

/** Returns the item; null when the delta is about one that is closed: nothing may follow then. */
export function addDelta(state: MachineState, out: MachineOutput[], report: DeltaReport): OpenItem | null {
  const { ledger } = state;
  let item = ledger.open.get(report.key);
  if (item === undefined) {
    if (isKnown(ledger, report.key)) return null;
    openItem(state, out, { head: stubFor(report), options: made("item.stub") });
    item = ledger.open.get(report.key);
    if (item === undefined) return null;
  }
  // One block has one kind of words: that of its first piece.
  const part = item.part ?? report.part;
  if (report.delta !== "") pushDelta(state, out, { item, part, delta: report.delta, options: asReported });
  return item;
}

/** Returns the item's head when it was open and is closed now. */
export function closeItem(
  state: MachineState,
  out: MachineOutput[],
  { report, options }: { report: CloseReport; options: EmitOptions },
): ItemHead | null {
  const { ledger } = state;
  let item = ledger.open.get(report.key);
  if (item === undefined) {
    if (isKnown(ledger, report.key) || report.item === undefined) return null;
    openItem(state, out, { head: report.item, options: made("item.stub") });
    item = ledger.open.get(report.key);
    if (item === undefined) return null;
  }
  if (report.content !== undefined && keepsCall(item.head, report.content)) item.content = report.content;
  const replaced = settleText(state, out, { item, given: report.content !== undefined });
  complete(state, out, { item: replaced, status: report.status, options });
  return replaced.head;
}

/** The call of a tool item never vanishes, whatever its end says. */
function keepsCall(head: ItemHead, content: readonly ContentPart[]): boolean {
  if (!isTool(head)) return true;
  const part = content.find(({ type }) => type === head.kind);
  return callIdOf({ content: part === undefined ? [] : [part] }) === callIdOf(head);
}

/** Closes as failed what is still open, with what was said so far. */
export function failItem(
  state: MachineState,
  out: MachineOutput[],
  { item, rule }: { item: OpenItem; rule: string },
): void {
  settleText(state, out, { item, given: false });
  complete(state, out, { item, status: "failed", options: made(rule) });
}

/** The id of an item by its key, open or closed. */
export const idOf = (ledger: Ledger, key: string): ItemId | null =>
  ledger.open.get(key)?.item_id ?? ledger.closed.get(key) ?? ledger.older.get(key) ?? null;

/**
 * Makes the deltas and the final content agree. Where the agent corrected what it had streamed, the streamed item
 * is closed as failed and a new one says the final text: the deltas of a completed block always add up to it.
 */
function settleText(
  state: MachineState,
  out: MachineOutput[],
  { item, given }: { item: OpenItem; given: boolean },
): OpenItem {
  if (!given) {
    item.content = saying(item, item.content);
    return item;
  }
  const final = finalText(item);
  if (final === null) {
    // What was streamed was said, also when the final content does not repeat it.
    item.content = saying(item, item.content);
    return item;
  }
  if (final.text === item.text) return item;
  const { part, text } = final;
  if (text.startsWith(item.text)) {
    const needed = part === "tool_output" ? item.text !== "" : item.head.role === "assistant";
    if (needed) pushDelta(state, out, { item, part, delta: text.slice(item.text.length), options: made("item.rest") });
    return item;
  }
  if (part === "tool_output" || item.head.role !== "assistant") return item;
  // Agents trim what they streamed; what was streamed stands.
  if (text.trim() === item.text.trim()) {
    item.content = saying(item, item.content);
    return item;
  }
  return correct(state, out, item);
}

function correct(state: MachineState, out: MachineOutput[], item: OpenItem): OpenItem {
  const corrected = item.content;
  const { key } = item.head;
  item.content = saying(item, item.head.content);
  complete(state, out, { item, status: "failed", options: made("item.corrected") });
  state.ledger.closed.delete(key);
  openItem(state, out, { head: item.head, options: made("item.corrected") });
  const again = state.ledger.open.get(key);
  if (again === undefined) return item;
  again.content = corrected;
  return settleText(state, out, { item: again, given: true });
}

function complete(
  state: MachineState,
  out: MachineOutput[],
  { item, status, options }: { item: OpenItem; status: ItemStatus; options: EmitOptions },
): void {
  const { ledger } = state;
  deleteOpen(ledger, item);
  ledger.closed.set(item.head.key, item.item_id);
  emit(state, out, { type: "item.completed", data: { item: itemAs(item, status) } }, options);
}

function pushDelta(
  state: MachineState,
  out: MachineOutput[],
  { item, part, delta, options }: { item: OpenItem; part: DeltaKind; delta: string; options: EmitOptions },
): void {
  item.text += delta;
  item.part = part;
  state.ledger.deltaItem = item;
  const data = { item_id: item.item_id, native_item_id: item.head.native_item_id, delta, part };
  emit(state, out, { type: "item.delta", data }, options);
}

function itemAs(item: OpenItem, status: ItemStatus): Item {
  const { item_id, parent_id, content } = item;
  const { native_item_id, message_id = null, kind, role, subagent } = item.head;
  if (subagent === undefined) return { item_id, native_item_id, message_id, parent_id, kind, role, status, content };
  return { item_id, native_item_id, message_id, parent_id, kind, role, status, content, subagent };
}

/** The part of the content that deltas speak of. */
function finalText({ content }: OpenItem): { part: DeltaKind; text: string } | null {
  for (const part of content) {
    if (part.type === "text" || part.type === "reasoning") return { part: part.type, text: part.text };
    if (part.type === "tool_result") return { part: "tool_output", text: part.output };
  }
  return null;
}

const saying = (item: OpenItem, content: readonly ContentPart[]): readonly ContentPart[] =>
  item.text === "" || item.part === null ? content : withText(content, { text: item.text, part: item.part });

/** An item that nobody announced. */
export function stubFor({ key, part }: DeltaReport): ItemHead {
  if (part === "tool_output") {
    const content: ContentPart[] = [{ type: "tool_result", call_id: key, output: "", is_error: false }];
    return { key, native_item_id: key, kind: "tool_result", role: "tool", content };
  }
  return { key, native_item_id: key, kind: "message", role: "assistant", content: [textPart({ text: "", part })] };
}
