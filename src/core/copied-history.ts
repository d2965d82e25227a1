/** A fork begins with what was said and done in its origin: items of that session, with ids of their own. */
import { itemId } from "../protocol/ids.ts";
import type { ContentPart, Item, ToolResultPart } from "../protocol/items.ts";
import { emit, type MachineOutput, type MachineState, made } from "./machine-state.ts";

/** The rule on what was copied. */
export const COPIED = "session.forked";

export interface CopiedItem {
  readonly item: Item;
  /** The place of its parent among all that is copied, counted from 0. */
  readonly parent: number | null;
}

/** Only in a session that has no item of its own yet. The next event of another kind says that this was all. */
export function copyItems(state: MachineState, out: MachineOutput[], copied: readonly CopiedItem[]): void {
  for (const { item: origin, parent } of copied) {
    state.ledger.count += 1;
    const item: Item = {
      ...origin,
      item_id: itemId(state.session, state.ledger.count),
      parent_id: parent === null ? null : itemId(state.session, parent + 1),
    };
    const begun: Item = { ...item, status: "in_progress", content: item.content.map(emptied(item)) };
    emit(state, out, { type: "item.started", data: { item: begun } }, made(COPIED));
    const said = item.role === "user" ? undefined : item.content.find(isSaid);
    if (said !== undefined && said.text !== "") {
      const { item_id, native_item_id } = item;
      const data = { item_id, native_item_id, delta: said.text, part: said.type };
      emit(state, out, { type: "item.delta", data }, made(COPIED));
    }
    emit(state, out, { type: "item.completed", data: { item } }, made(COPIED));
  }
}

const isSaid = (part: ContentPart): part is Extract<ContentPart, { type: "text" | "reasoning" }> =>
  part.type === "text" || part.type === "reasoning";

/** As an item begins: what is said in it comes later. */
const emptied =
  ({ role }: Item) =>
  (part: ContentPart): ContentPart => {
    if (part.type === "tool_result") return { ...part, output: "" } satisfies ToolResultPart;
    return isSaid(part) && role !== "user" ? { ...part, text: "" } : part;
  };
