/** Rules of the item stream: each begins, says its pieces and is completed once, and the pieces add up. */

import type { Checker, Rule } from "../core/lint.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { itemNumber } from "../protocol/ids.ts";
import type { ContentPart, Item } from "../protocol/items.ts";

export const itemRules: readonly Rule<UniversalEvent>[] = [
  {
    id: "universal.item-lifecycle",
    says: "An item begins, has zero or more deltas, and is completed exactly once; nothing about it follows.",
    check: lifecycle,
  },
  {
    id: "universal.item-status",
    says: "An item begins `in_progress` and is completed as `completed` or `failed`.",
    check: status,
  },
  {
    id: "universal.item-same",
    says: "An item keeps its kind, role, parent and message; a call keeps its name, call id and arguments.",
    check: same,
  },
  {
    id: "universal.text-adds-up",
    says: "The deltas of an assistant's block add up to exactly its final text, so a block with words has a delta.",
    check: textAddsUp,
  },
  {
    id: "universal.delta-part",
    says: "Text and reasoning are deltas of message items, tool output of tool results; a delta is never empty.",
    check: deltaPart,
  },
  {
    id: "universal.block",
    says: "A message item of the assistant is one block: it has at most one text or reasoning part.",
    check: block,
  },
  {
    id: "universal.part-place",
    says: "Parts are where they belong: calls and results alone in items of their kind, files in messages and results.",
    check: partPlace,
  },
  {
    id: "universal.tool-part",
    says: "A tool item has its part from the beginning; a completed call's arguments are JSON.",
    check: toolPart,
  },
  { id: "universal.parent", says: "A parent is an item that has begun before.", check: parent },
];

/** The number of an item: they count up, so a number that was reached and is not open belongs to a completed item. */
const numberOf = (id: string): number => itemNumber(id) ?? Number.NaN;

function lifecycle(): Checker<UniversalEvent> {
  const open = new Set<string>();
  let highest = 0;
  const stray = (id: string, what: string): string[] =>
    numberOf(id) <= highest ? [`${what} of ${id} after its completion`] : [`${what} of ${id}, which has not begun`];
  return {
    step(event) {
      if (event.type === "item.started") {
        const { item_id } = event.data.item;
        const again = open.has(item_id) || numberOf(item_id) <= highest;
        open.add(item_id);
        highest = Math.max(highest, numberOf(item_id));
        return again ? [`${item_id} begins again`] : [];
      }
      if (event.type === "item.delta") return open.has(event.data.item_id) ? [] : stray(event.data.item_id, "a delta");
      if (event.type !== "item.completed") return [];
      const { item_id } = event.data.item;
      return open.delete(item_id) ? [] : stray(item_id, "a completion");
    },
    end: () => [...open].map((id) => `${id} is not completed`),
  };
}

function status(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.type !== "item.started" && event.type !== "item.completed") return [];
      const { item_id, status: said } = event.data.item;
      return (event.type === "item.started") === (said === "in_progress")
        ? []
        : [`${event.type} of ${item_id} is ${said}`];
    },
  };
}

function same(): Checker<UniversalEvent> {
  const open = new Map<string, Item>();
  return {
    step(event) {
      if (event.type === "item.started") open.set(event.data.item.item_id, event.data.item);
      if (event.type !== "item.completed") return [];
      const { item } = event.data;
      const before = open.get(item.item_id);
      open.delete(item.item_id);
      return before === undefined ? [] : changes(before, item).map((field) => `${item.item_id} changed its ${field}`);
    },
  };
}

function changes(before: Item, after: Item): string[] {
  const out: string[] = [];
  if (before.kind !== after.kind) out.push("kind");
  if (before.role !== after.role) out.push("role");
  if (before.parent_id !== after.parent_id) out.push("parent");
  if (before.message_id !== after.message_id) out.push("message");
  if (before.subagent?.id !== after.subagent?.id) out.push("subagent");
  const [first, last] = [callOf(before), callOf(after)];
  if (first !== undefined && first.name !== last?.name) out.push("name");
  if (first !== undefined && first.call_id !== last?.call_id) out.push("call id");
  if (first !== undefined && first.arguments !== "" && first.arguments !== last?.arguments) out.push("arguments");
  return out;
}

const callOf = (item: Item): Extract<ContentPart, { type: "tool_call" }> | undefined =>
  item.content.find((part) => part.type === "tool_call");

function textAddsUp(): Checker<UniversalEvent> {
  const said = new Map<string, string>();
  return {
    step(event) {
      if (event.type === "item.started" && isBlock(event.data.item)) said.set(event.data.item.item_id, "");
      if (event.type === "item.delta") {
        const text = said.get(event.data.item_id);
        if (text !== undefined) said.set(event.data.item_id, text + event.data.delta);
      }
      if (event.type !== "item.completed") return [];
      const { item } = event.data;
      const text = said.get(item.item_id);
      said.delete(item.item_id);
      const final = item.content.map((part) => (isWords(part) ? part.text : "")).join("");
      if (text === undefined || text === final) return [];
      return [`the deltas of ${item.item_id} are ${text.length} characters and not its text of ${final.length}`];
    },
  };
}

const isBlock = (item: Item): boolean => item.kind === "message" && item.role === "assistant";
const isWords = (part: ContentPart): part is Extract<ContentPart, { type: "text" | "reasoning" }> =>
  part.type === "text" || part.type === "reasoning";

function deltaPart(): Checker<UniversalEvent> {
  const kinds = new Map<string, Item["kind"]>();
  return {
    step(event) {
      if (event.type === "item.started") kinds.set(event.data.item.item_id, event.data.item.kind);
      if (event.type === "item.completed") kinds.delete(event.data.item.item_id);
      if (event.type !== "item.delta") return [];
      const { item_id, part, delta } = event.data;
      const out = delta === "" ? [`an empty delta of ${item_id}`] : [];
      const kind = kinds.get(item_id);
      if (kind !== undefined && (part === "tool_output") !== (kind === "tool_result")) {
        out.push(`${part} of ${item_id}, which is a ${kind}`);
      }
      return out;
    },
  };
}

function block(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.type !== "item.completed" || !isBlock(event.data.item)) return [];
      const count = event.data.item.content.filter(isWords).length;
      return count <= 1 ? [] : [`${event.data.item.item_id} has ${count} text and reasoning parts`];
    },
  };
}

const homes: { readonly [Type in ContentPart["type"]]?: readonly Item["kind"][] } = {
  tool_call: ["tool_call"],
  tool_result: ["tool_result"],
  reasoning: ["message"],
  file_ref: ["message", "tool_result"],
};

function partPlace(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.type !== "item.started" && event.type !== "item.completed") return [];
      const { item_id, kind, content } = event.data.item;
      return content
        .filter((part) => homes[part.type]?.includes(kind) === false)
        .map((part) => `${item_id}, a ${kind}, has a ${part.type} part`);
    },
  };
}

function toolPart(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.type !== "item.started" && event.type !== "item.completed") return [];
      const { item_id, kind, content, status: said } = event.data.item;
      if (kind !== "tool_call" && kind !== "tool_result") return [];
      const parts = content.filter((part) => part.type === kind);
      if (parts.length !== 1) return [`${item_id} has ${parts.length} ${kind} parts`];
      const [part] = parts;
      if (part?.type !== "tool_call" || said !== "completed") return [];
      return isJson(part.arguments) ? [] : [`the arguments of ${item_id} are not JSON`];
    },
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parent(): Checker<UniversalEvent> {
  let highest = 0;
  return {
    step(event) {
      if (event.type !== "item.started") return [];
      const { item_id, parent_id } = event.data.item;
      const known = parent_id === null || numberOf(parent_id) <= highest;
      highest = Math.max(highest, numberOf(item_id));
      return known ? [] : [`${item_id} has the parent ${parent_id}, which has not begun`];
    },
  };
}
