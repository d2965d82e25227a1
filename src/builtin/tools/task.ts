/** task: hands a piece of work to a child with a conversation of its own. */
import * as z from "zod";
import { judge } from "../permission/policy.ts";
import { boundOutput } from "./bound.ts";
import { defineTool } from "./tool.ts";

export const task = defineTool({
  name: "task",
  kind: "subagent",
  description:
    "Hands a piece of work to a helper that has the same tools but knows nothing of this conversation: the prompt must " +
    "say all it needs and what it shall report. Returns its last answer.",
  input: z.object({
    description: z.string().min(1).describe("The work in three to five words"),
    prompt: z.string().min(1).describe("All the helper needs to know"),
  }),
  title: ({ description }) => description,
  async run({ description, prompt }, context) {
    await context.permit({
      action: "task",
      judge: (policy) => judge(policy, { names: ["task"], texts: [description, "*"] }),
      patterns: [description],
      always: [{ action: "task", pattern: "*" }],
      metadata: { description, prompt },
    });
    const answer = await context.delegate({ title: description, prompt });
    return { output: await boundOutput(answer, context) };
  },
});
