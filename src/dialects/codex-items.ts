/** The items of a Codex thread, as `codex app-server` sends them: only the fields we read, loose about the rest. */

import type { CodexItem } from "./codex-items-schema.ts";
import {
  byTag,
  type Check,
  fields,
  isBoolean,
  isInteger,
  isListOf,
  isMapOf,
  isNumber,
  isOneOf,
  isString,
  nullish,
  optional,
} from "./shape.ts";

export type { CodexItem, FileChange } from "./codex-items-schema.ts";

export const runStates = ["inProgress", "completed", "failed", "declined"] as const;

export const callStates = ["inProgress", "completed", "failed"] as const;

export const collabStates = ["inProgress", "completed", "failed", "interrupted"] as const;

export const changeKinds = ["add", "delete", "update"] as const;

export const agentStates = [
  "pendingInit",
  "running",
  "interrupted",
  "completed",
  "errored",
  "shutdown",
  "notFound",
] as const;

export type ItemOf<T extends CodexItem["type"]> = Extract<CodexItem, { type: T }>;

const id = isString;

const maybeText = nullish(isString);

const optionalText = optional(isString);

export const isFileChange = fields({
  path: isString,
  diff: isString,
  kind: fields({ type: isOneOf(changeKinds), move_path: maybeText }),
});

const itemChecks: Readonly<Record<CodexItem["type"], Check>> = {
  userMessage: fields({
    id,
    content: isListOf(
      fields({ type: isString, text: optionalText, url: optionalText, path: optionalText, name: optionalText }),
    ),
  }),
  hookPrompt: fields({ id, fragments: isListOf(fields({ text: isString })) }),
  agentMessage: fields({ id, text: isString, phase: maybeText }),
  functionCallOutput: fields({ id, name: isString, namespace: maybeText }),
  plan: fields({ id, text: isString }),
  reasoning: fields({ id, summary: nullish(isListOf(isString)), content: nullish(isListOf(isString)) }),
  commandExecution: fields({
    id,
    command: isString,
    cwd: isString,
    status: isOneOf(runStates),
    commandActions: isListOf(fields({ type: isString, command: isString, path: maybeText })),
    source: maybeText,
    aggregatedOutput: maybeText,
    exitCode: nullish(isInteger),
  }),
  fileChange: fields({ id, changes: isListOf(isFileChange), status: isOneOf(runStates) }),
  mcpToolCall: fields({
    id,
    server: isString,
    tool: isString,
    status: isOneOf(callStates),
    result: nullish(fields({ content: Array.isArray })),
    error: nullish(fields({ message: isString })),
  }),
  dynamicToolCall: fields({
    id,
    tool: isString,
    namespace: maybeText,
    status: isOneOf(callStates),
    contentItems: nullish(isListOf(fields({ type: isString, text: optionalText }))),
    success: nullish(isBoolean),
  }),
  collabAgentToolCall: fields({
    id,
    tool: isString,
    status: isOneOf(collabStates),
    receiverThreadIds: isListOf(isString),
    prompt: maybeText,
    agentsStates: isMapOf(fields({ status: isOneOf(agentStates), message: maybeText })),
  }),
  subAgentActivity: fields({
    id,
    agentThreadId: isString,
    agentPath: isString,
    kind: isOneOf(["started", "interacted", "interrupted", "completed"]),
  }),
  webSearch: fields({ id, query: isString, results: nullish(Array.isArray) }),
  imageView: fields({ id, path: isString }),
  sleep: fields({ id, durationMs: isNumber }),
  imageGeneration: fields({ id, status: isString, result: maybeText, savedPath: maybeText, revisedPrompt: maybeText }),
  enteredReviewMode: fields({ id, review: isString }),
  exitedReviewMode: fields({ id, review: isString }),
  contextCompaction: fields({ id }),
};

/** Every item type we know, for the walk over the published schema. */
export const itemTypes: readonly string[] = Object.keys(itemChecks);

const itemCheck = byTag("type", itemChecks);

export const isCodexItem = (value: unknown): value is CodexItem => itemCheck(value);
