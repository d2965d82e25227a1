/** The items of a Codex thread, as `codex app-server` sends them: only the fields we read, loose about the rest. */
import * as z from "zod";
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

const runStates = ["inProgress", "completed", "failed", "declined"] as const;
const callStates = ["inProgress", "completed", "failed"] as const;
const collabStates = ["inProgress", "completed", "failed", "interrupted"] as const;
const changeKinds = ["add", "delete", "update"] as const;
const agentStates = ["pendingInit", "running", "interrupted", "completed", "errored", "shutdown", "notFound"] as const;

const UserInput = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  path: z.string().optional(),
  name: z.string().optional(),
});
const CommandAction = z.looseObject({ type: z.string(), command: z.string(), path: z.string().nullish() });
export const FileChange = z.looseObject({
  path: z.string(),
  diff: z.string(),
  kind: z.looseObject({ type: z.enum(changeKinds), move_path: z.string().nullish() }),
});
export type FileChange = z.infer<typeof FileChange>;
const AgentState = z.looseObject({ status: z.enum(agentStates), message: z.string().nullish() });

export const CodexItem = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("userMessage"), id: z.string(), content: z.array(UserInput) }),
  z.looseObject({
    type: z.literal("hookPrompt"),
    id: z.string(),
    fragments: z.array(z.looseObject({ text: z.string() })),
  }),
  z.looseObject({ type: z.literal("agentMessage"), id: z.string(), text: z.string(), phase: z.string().nullish() }),
  z.looseObject({
    type: z.literal("functionCallOutput"),
    id: z.string(),
    name: z.string(),
    namespace: z.string().nullish(),
    output: z.unknown(),
  }),
  z.looseObject({ type: z.literal("plan"), id: z.string(), text: z.string() }),
  z.looseObject({
    type: z.literal("reasoning"),
    id: z.string(),
    summary: z.array(z.string()).nullish(),
    content: z.array(z.string()).nullish(),
  }),
  z.looseObject({
    type: z.literal("commandExecution"),
    id: z.string(),
    command: z.string(),
    cwd: z.string(),
    status: z.enum(runStates),
    commandActions: z.array(CommandAction),
    source: z.string().nullish(),
    aggregatedOutput: z.string().nullish(),
    exitCode: z.number().int().nullish(),
  }),
  z.looseObject({
    type: z.literal("fileChange"),
    id: z.string(),
    changes: z.array(FileChange),
    status: z.enum(runStates),
  }),
  z.looseObject({
    type: z.literal("mcpToolCall"),
    id: z.string(),
    server: z.string(),
    tool: z.string(),
    status: z.enum(callStates),
    arguments: z.unknown(),
    result: z.looseObject({ content: z.array(z.unknown()), structuredContent: z.unknown() }).nullish(),
    error: z.looseObject({ message: z.string() }).nullish(),
  }),
  z.looseObject({
    type: z.literal("dynamicToolCall"),
    id: z.string(),
    tool: z.string(),
    namespace: z.string().nullish(),
    status: z.enum(callStates),
    arguments: z.unknown(),
    contentItems: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).nullish(),
    success: z.boolean().nullish(),
  }),
  z.looseObject({
    type: z.literal("collabAgentToolCall"),
    id: z.string(),
    tool: z.string(),
    status: z.enum(collabStates),
    receiverThreadIds: z.array(z.string()),
    prompt: z.string().nullish(),
    agentsStates: z.record(z.string(), AgentState),
  }),
  z.looseObject({
    type: z.literal("subAgentActivity"),
    id: z.string(),
    agentThreadId: z.string(),
    agentPath: z.string(),
    kind: z.enum(["started", "interacted", "interrupted", "completed"]),
  }),
  z.looseObject({
    type: z.literal("webSearch"),
    id: z.string(),
    query: z.string(),
    action: z.unknown(),
    results: z.array(z.unknown()).nullish(),
  }),
  z.looseObject({ type: z.literal("imageView"), id: z.string(), path: z.string() }),
  z.looseObject({ type: z.literal("sleep"), id: z.string(), durationMs: z.number() }),
  z.looseObject({
    type: z.literal("imageGeneration"),
    id: z.string(),
    status: z.string(),
    result: z.string().nullish(),
    savedPath: z.string().nullish(),
    revisedPrompt: z.string().nullish(),
    failure: z.unknown(),
  }),
  z.looseObject({ type: z.literal("enteredReviewMode"), id: z.string(), review: z.string() }),
  z.looseObject({ type: z.literal("exitedReviewMode"), id: z.string(), review: z.string() }),
  z.looseObject({ type: z.literal("contextCompaction"), id: z.string() }),
]);
export type CodexItem = z.infer<typeof CodexItem>;
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
