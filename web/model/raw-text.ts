/** Entries as plain text, for when they cannot be drawn: nothing is parsed. */
import type { Entry } from "./entries.ts";

/** Maximum number of characters of a conversation: its end is kept. */
const MAX_CONVERSATION = 200_000;

export function rawText(entry: Entry): string {
  switch (entry.type) {
    case "prompt":
    case "text":
    case "reasoning":
    case "system":
      return entry.text;
    case "tool":
      return [entry.name, entry.title, entry.input, entry.output].filter((part) => part !== "").join("\n");
    case "permission":
    case "question":
      return JSON.stringify(entry.request, null, 2);
    case "retrying":
    case "compacting":
      return entry.message;
    case "note":
      return `${entry.label} ${entry.detail}`;
    case "end":
      return entry.turn.end === null ? "" : `Turn ended: ${entry.turn.end.reason}`;
  }
}

export function rawConversation(entries: readonly Entry[]): string {
  const parts: string[] = [];
  let left = MAX_CONVERSATION;
  for (let at = entries.length - 1; at >= 0 && left > 0; at -= 1) {
    const entry = entries[at];
    if (entry === undefined) continue;
    const text = rawText(entry).slice(-left);
    left -= text.length;
    parts.unshift(text);
  }
  return parts.join("\n\n");
}
