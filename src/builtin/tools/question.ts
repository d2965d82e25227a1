/** question: asks the person, and waits. */
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { permitNote } from "./todo.ts";
import { defineTool } from "./tool.ts";

export const question = defineTool({
  name: "question",
  kind: "note",
  description:
    "Asks the user one or more questions with answers to choose from, and waits for the reply. Use it only when you " +
    "cannot go on without the answer.",
  input: z.object({
    questions: z
      .array(
        z.object({
          question: z.string().min(1),
          header: z.string().optional().describe("A very short label"),
          options: z
            .array(z.object({ label: z.string().min(1), description: z.string().optional() }))
            .max(20)
            .optional(),
          multiple: z.boolean().optional().describe("Several answers may be chosen"),
          custom: z.boolean().optional().describe("An answer in the user's own words is taken; true when absent"),
        }),
      )
      .min(1)
      .max(10),
  }),
  title: ({ questions }) => questions[0]?.question ?? "question",
  async run({ questions }, context) {
    await permitNote(context, "question");
    const asked = questions.map(({ question: text, header, options = [], multiple = false, custom = true }, index) => ({
      id: String(index + 1),
      ...defined({ header }),
      question: text,
      options: options.map(({ label, description }) => ({
        label,
        ...defined({ description }),
      })),
      multiple,
      custom,
    }));
    const answers = await context.ask(asked);
    const lines = asked.map(({ question: text }, index) => `${text}\n→ ${answers[index]?.join(", ") || "(no answer)"}`);
    return { output: lines.join("\n\n") };
  },
});
