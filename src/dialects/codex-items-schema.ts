/** The lines of `codex-items.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";
import { agentStates, callStates, changeKinds, collabStates, runStates } from "./codex-items.ts";

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
