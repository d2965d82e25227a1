/** What `codex exec --json` prints: one JSON object a line, items whole, ids from `item_0` in every process. */

import type { ExecItem, ExecLine } from "./codex-exec-schema.ts";
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

export type { ExecItem, ExecLine, ExecUsage } from "./codex-exec-schema.ts";

export const runStates = ["in_progress", "completed", "failed", "declined"] as const;

export const changeKinds = ["add", "delete", "update"] as const;

export type ExecItemOf<T extends ExecItem["type"]> = Extract<ExecItem, { type: T }>;

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
