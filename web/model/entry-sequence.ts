/** Which event an entry of the conversation began with: the lanes show why it exists. */
import type { UniversalEvent } from "../../src/protocol/events.ts";

/** By the entry's key; null for one that was made from the session's snapshot, before the events that are loaded. */
export function sequenceOf(events: readonly UniversalEvent[], key: string): number | null {
  const [, kind = "", id = key] = /^(note|state|end|tool|permission|question) (.*)$/s.exec(key) ?? [];
  if (kind === "note" || kind === "state") return Number(id);
  return events.find((event) => begins(event, { kind, id }))?.sequence ?? null;
}

function begins(event: UniversalEvent, { kind, id }: { readonly kind: string; readonly id: string }): boolean {
  switch (event.type) {
    case "turn.ended":
      return kind === "end" && event.data.turn_id === id;
    case "permission.requested":
      return kind === "permission" && event.data.permission_id === id;
    case "question.requested":
      return kind === "question" && event.data.question_id === id;
    case "item.started":
    case "item.completed": {
      const { item_id, content } = event.data.item;
      if (kind === "") return item_id === id;
      return kind === "tool" && content.some((part) => part.type === "tool_call" && part.call_id === id);
    }
    default:
      return false;
  }
}
