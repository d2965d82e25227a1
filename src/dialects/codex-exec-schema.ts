/** The lines of `codex-exec.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";
import { changeKinds, runStates } from "./codex-exec.ts";

const text = z.string();

export const ExecItem = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("agent_message"), id: text, text }),
  z.looseObject({ type: z.literal("reasoning"), id: text, text }),
  z.looseObject({
    type: z.literal("command_execution"),
    id: text,
    command: text,
    aggregated_output: text,
    exit_code: z.number().nullish(),
    status: z.enum(runStates),
  }),
  z.looseObject({
    type: z.literal("file_change"),
    id: text,
    changes: z.array(z.looseObject({ path: text, kind: z.enum(changeKinds) })),
    status: z.enum(runStates),
  }),
  z.looseObject({
    type: z.literal("mcp_tool_call"),
    id: text,
    server: text,
    tool: text,
    arguments: z.unknown(),
    result: z.unknown(),
    error: z.looseObject({ message: text }).nullish(),
    status: z.enum(runStates),
  }),
  z.looseObject({
    type: z.literal("collab_tool_call"),
    id: text,
    tool: text,
    prompt: text.nullish(),
    agents_states: z.unknown(),
    status: z.enum(runStates),
  }),
  z.looseObject({ type: z.literal("web_search"), id: text, query: text }),
  z.looseObject({
    type: z.literal("todo_list"),
    id: text,
    items: z.array(z.looseObject({ text, completed: z.boolean() })),
  }),
  z.looseObject({ type: z.literal("error"), id: text, message: text }),
]);

export type ExecItem = z.infer<typeof ExecItem>;

const Usage = z.looseObject({
  input_tokens: z.number(),
  cached_input_tokens: z.number(),
  cache_write_input_tokens: z.number().nullish(),
  output_tokens: z.number(),
  reasoning_output_tokens: z.number().nullish(),
});

export type ExecUsage = z.infer<typeof Usage>;

export const ExecLine = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("thread.started"), thread_id: text }),
  z.looseObject({ type: z.literal("turn.started") }),
  z.looseObject({ type: z.literal("turn.completed"), usage: Usage }),
  z.looseObject({ type: z.literal("turn.failed"), error: z.looseObject({ message: text }) }),
  z.looseObject({ type: z.literal("item.started"), item: ExecItem }),
  z.looseObject({ type: z.literal("item.updated"), item: ExecItem }),
  z.looseObject({ type: z.literal("item.completed"), item: ExecItem }),
  z.looseObject({ type: z.literal("error"), message: text }),
]);

export type ExecLine = z.infer<typeof ExecLine>;
