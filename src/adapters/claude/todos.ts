/** Two kinds of to-do lists: TodoWrite repeats the whole list, the Task tools send changes only. */

import type { Report } from "../../core/report.ts";
import { isShape, isString, shapeOf } from "../../dialects/shape.ts";
import type { Todo } from "../../protocol/events.ts";

export interface KnownTodo {
  readonly content: string;
  readonly status: Todo["status"];
}

interface TodoCall {
  readonly name: string;
  readonly input: unknown;
  readonly returned: unknown;
  readonly output: string;
}

/** What a to-do tool that succeeded changed. */
export function onTodoTool(todos: Map<string, KnownTodo>, { name, input, returned, output }: TodoCall): Report[] {
  const given = shapeOf(input);
  const result = shapeOf(returned);
  switch (name) {
    case "TodoWrite":
      replace(todos, listOf(result.newTodos ?? given.todos));
      break;
    case "TaskList":
      if (!Array.isArray(result.tasks)) return [];
      replace(todos, listOf(result.tasks));
      break;
    case "TaskCreate": {
      const task = shapeOf(result.task);
      const id = isString(task.id) ? task.id : CREATED.exec(output)?.[1];
      if (id === undefined) return [];
      todos.set(id, { content: subjectOf(task) ?? subjectOf(given) ?? "", status: "pending" });
      break;
    }
    case "TaskUpdate": {
      const { taskId } = given;
      if (!isString(taskId)) return [];
      const known = todos.get(taskId);
      if (given.status === "deleted") todos.delete(taskId);
      else {
        const content = subjectOf(given) ?? known?.content ?? `Task ${taskId}`;
        todos.set(taskId, { content, status: statusOf(given.status) ?? known?.status ?? "pending" });
      }
      break;
    }
    default:
      return [];
  }
  return [report(todos)];
}

/** The conversation began anew: an old list is gone. */
export function clearTodos(todos: Map<string, KnownTodo>): Report[] {
  if (todos.size === 0) return [];
  todos.clear();
  return [report(todos)];
}

// Without `tool_use_result` (a subagent's lines have none) the id is only in the sentence.
const CREATED = /^Task #(\S+) created/;

const report = (todos: ReadonlyMap<string, KnownTodo>): Report => ({
  type: "todo",
  todos: [...todos].map(([id, { content, status }]) => ({ id, content, status })),
});

function replace(todos: Map<string, KnownTodo>, list: readonly (KnownTodo & { readonly id: string })[]): void {
  todos.clear();
  for (const { id, content, status } of list) todos.set(id, { content, status });
}

function listOf(value: unknown): (KnownTodo & { readonly id: string })[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isShape).map((todo, index) => ({
    id: isString(todo.id) ? todo.id : String(index + 1),
    content: subjectOf(todo) ?? "",
    status: statusOf(todo.status) ?? "pending",
  }));
}

function subjectOf(value: Readonly<Record<string, unknown>>): string | null {
  if (isString(value.content)) return value.content;
  return isString(value.subject) ? value.subject : null;
}

function statusOf(value: unknown): Todo["status"] | null {
  return value === "pending" || value === "in_progress" || value === "completed" || value === "cancelled"
    ? value
    : null;
}
