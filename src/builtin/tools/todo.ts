/** todowrite and todoread: the list of what is left to do, kept by the session. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { judge } from "../permission/policy.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const TODOS = 200;

export const todowrite = defineTool({
  name: "todowrite",
  kind: "note",
  description:
    "Writes the whole list of tasks, replacing the former one. Use it for work of several steps: one task is " +
    "in_progress at a time, and each is set to completed as soon as it is done.",
  input: z.object({
    todos: z
      .array(
        z.object({
          id: z.string().optional(),
          content: z.string().min(1),
          status: z.enum(["pending", "in_progress", "completed", "cancelled"]),
          priority: z.enum(["high", "medium", "low"]).optional(),
        }),
      )
      .max(TODOS),
  }),
  title: ({ todos }) => `${todos.filter(({ status }) => status !== "completed").length} open`,
  async run({ todos }, context) {
    await permitNote(context, "todowrite");
    const numbered = todos.map(({ id, content, status, priority }, index) => ({
      id: id ?? String(index + 1),
      content,
      status,
      ...defined({ priority }),
    }));
    context.todos.write(numbered);
    return { output: describe(numbered) };
  },
});

export const todoread = defineTool({
  name: "todoread",
  kind: "note",
  description: "Returns the list of tasks as it stands.",
  input: z.object({}),
  title: () => "tasks",
  async run(_, context) {
    await permitNote(context, "todoread");
    return { output: describe(context.todos.read()) };
  },
});

export const permitNote = (context: ToolContext, action: string): Promise<void> =>
  context.permit({
    action,
    judge: (policy) => judge(policy, { names: [action], texts: ["*"] }),
    patterns: ["*"],
    always: [{ action, pattern: "*" }],
    metadata: {},
  });

const marks = { pending: "[ ]", in_progress: "[>]", completed: "[x]", cancelled: "[-]" } as const;

function describe(todos: readonly { readonly content: string; readonly status: keyof typeof marks }[]): string {
  if (todos.length === 0) return "(no tasks)";
  return todos.map(({ content, status }) => `${marks[status]} ${content}`).join("\n");
}
