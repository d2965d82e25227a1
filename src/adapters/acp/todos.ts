/** Plans of the protocol, and the lists of todo tools → todos. Entries have no ids: their place is one. */
import { isOneOf, isString, type Shape } from "../../dialects/shape.ts";
import type { Todo } from "../../protocol/events.ts";

const isState = isOneOf(["pending", "in_progress", "completed", "cancelled"]);

export function planTodos(entries: readonly Shape[]): Todo[] {
  return entries.flatMap((entry, index) => {
    const content = [entry.content, entry.description, entry.title].find((text) => isString(text));
    if (!isString(content) || !isState(entry.status)) return [];
    const todo: Todo = { id: String(index + 1), content, status: entry.status };
    return [isString(entry.priority) ? { ...todo, priority: entry.priority } : todo];
  });
}
