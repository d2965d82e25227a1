/** Items as plain text, for a model that reads what another one did. */
import type { ContentPart, Item } from "../protocol/items.ts";

/** Long outputs are cut: the reader needs to know what happened, not every line of it. */
const LONGEST = 4_000;

export const itemsText = (items: readonly Item[]): string =>
  items
    .map((item) => ({ who: item.kind === "message" ? item.role : item.kind, text: textOf(item.content) }))
    .filter(({ text }) => text !== "")
    .map(({ who, text }) => `## ${who}\n${text}`)
    .join("\n\n");

const textOf = (content: readonly ContentPart[]): string =>
  content
    .map(partText)
    .filter((text) => text !== "")
    .join("\n");

function partText(part: ContentPart): string {
  switch (part.type) {
    case "text":
      return cut(part.text);
    case "tool_call":
      return cut(`${part.name} ${part.arguments}`);
    case "tool_result":
      return cut(`${part.is_error === true ? "failed: " : ""}${part.output}`);
    case "file_ref":
      return `${part.action} ${part.path}`;
    case "status":
      return [part.label, part.detail ?? ""].join(" ").trim();
    default:
      return "";
  }
}

const cut = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`);
