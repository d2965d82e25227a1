/** What `codex exec --json` prints: one JSON object a line, items whole, ids from `item_0` in every process. */
import * as z from "zod";
import {
  byTag,
  type Check,
  fields,
  isAnything,
  isBoolean,
  isListOf,
  isNumber,
  isOneOf,
  isString,
  nullish,
} from "./shape.ts";

const runStates = ["in_progress", "completed", "failed", "declined"] as const;
const changeKinds = ["add", "delete", "update"] as const;
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
export type ExecItemOf<T extends ExecItem["type"]> = Extract<ExecItem, { type: T }>;

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

const itemChecks: Readonly<Record<ExecItem["type"], Check>> = {
  agent_message: fields({ id: isString, text: isString }),
  reasoning: fields({ id: isString, text: isString }),
  command_execution: fields({
    id: isString,
    command: isString,
    aggregated_output: isString,
    exit_code: nullish(isNumber),
    status: isOneOf(runStates),
  }),
  file_change: fields({
    id: isString,
    changes: isListOf(fields({ path: isString, kind: isOneOf(changeKinds) })),
    status: isOneOf(runStates),
  }),
  mcp_tool_call: fields({
    id: isString,
    server: isString,
    tool: isString,
    error: nullish(fields({ message: isString })),
    status: isOneOf(runStates),
  }),
  collab_tool_call: fields({
    id: isString,
    tool: isString,
    prompt: nullish(isString),
    status: isOneOf(runStates),
  }),
  web_search: fields({ id: isString, query: isString }),
  todo_list: fields({ id: isString, items: isListOf(fields({ text: isString, completed: isBoolean })) }),
  error: fields({ id: isString, message: isString }),
};
const ofItem = fields({ item: byTag("type", itemChecks) });

const lineChecks: Readonly<Record<ExecLine["type"], Check>> = {
  "thread.started": fields({ thread_id: isString }),
  "turn.started": isAnything,
  "turn.completed": fields({
    usage: fields({
      input_tokens: isNumber,
      cached_input_tokens: isNumber,
      cache_write_input_tokens: nullish(isNumber),
      output_tokens: isNumber,
      reasoning_output_tokens: nullish(isNumber),
    }),
  }),
  "turn.failed": fields({ error: fields({ message: isString }) }),
  "item.started": ofItem,
  "item.updated": ofItem,
  "item.completed": ofItem,
  error: fields({ message: isString }),
};
const line = byTag("type", lineChecks);

export const isExecLine = (value: unknown): value is ExecLine => line(value);
