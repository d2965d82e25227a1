/** The lines of `codex.ts` as schemas, for tests and for the types: a running Franca checks by guards alone. */
import * as z from "zod";
import { stepStates, turnStates } from "./codex.ts";
import { CodexItem } from "./codex-items-schema.ts";

const text = z.string();

const maybe = z.string().nullish();

const here = { threadId: z.string(), turnId: z.string() };

export const TurnError = z.looseObject({ message: text, codexErrorInfo: z.unknown(), additionalDetails: maybe });

export type TurnError = z.infer<typeof TurnError>;

export const Thread = z.looseObject({
  id: text,
  cwd: maybe,
  cliVersion: maybe,
  model: maybe,
  name: maybe,
  parentThreadId: maybe,
  agentNickname: maybe,
});

export type Thread = z.infer<typeof Thread>;

const Turn = z.looseObject({ id: text, status: z.enum(turnStates), error: TurnError.nullish(), rootTurnId: maybe });

const TokenCounts = z.looseObject({
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  cacheWriteInputTokens: z.number().nullish(),
  outputTokens: z.number(),
  reasoningOutputTokens: z.number(),
});

export type TokenCounts = z.infer<typeof TokenCounts>;

const HookRun = z.looseObject({
  id: text,
  eventName: text,
  status: text,
  statusMessage: maybe,
  entries: z.array(z.looseObject({ text: text })),
});

const Review = z.looseObject({ status: text, rationale: maybe });

const notificationOf = <Method extends string, Params extends z.ZodRawShape>(method: Method, params: Params) =>
  z.looseObject({ method: z.literal(method), params: z.looseObject(params) });

export const CodexNotification = z.discriminatedUnion("method", [
  notificationOf("error", { ...here, willRetry: z.boolean(), error: TurnError }),
  notificationOf("thread/started", { thread: Thread }),
  notificationOf("thread/name/updated", { threadId: text, threadName: maybe }),
  notificationOf("thread/settings/updated", {
    threadId: text,
    threadSettings: z.looseObject({
      model: text,
      effort: maybe,
      approvalPolicy: z.unknown(),
      sandboxPolicy: z.unknown(),
    }),
  }),
  notificationOf("thread/goal/updated", { threadId: text, goal: z.looseObject({ objective: text, status: text }) }),
  notificationOf("thread/closed", { threadId: text }),
  notificationOf("thread/archived", { threadId: text }),
  notificationOf("thread/unarchived", { threadId: text }),
  notificationOf("thread/deleted", { threadId: text }),
  notificationOf("thread/reverted", { threadId: text }),
  notificationOf("thread/tokenUsage/updated", {
    ...here,
    tokenUsage: z.looseObject({ total: TokenCounts, last: TokenCounts }),
  }),
  notificationOf("turn/started", { threadId: text, turn: Turn }),
  notificationOf("turn/completed", { threadId: text, turn: Turn }),
  notificationOf("turn/diff/updated", { ...here, diff: text }),
  notificationOf("turn/plan/updated", {
    ...here,
    explanation: maybe,
    plan: z.array(z.looseObject({ step: text, status: z.enum(stepStates) })),
  }),
  notificationOf("item/started", { ...here, item: CodexItem }),
  notificationOf("item/completed", { ...here, item: CodexItem }),
  notificationOf("item/agentMessage/delta", { ...here, itemId: text, delta: text }),
  notificationOf("item/plan/delta", { ...here, itemId: text, delta: text }),
  notificationOf("item/reasoning/summaryPartAdded", { ...here, itemId: text, summaryIndex: z.number() }),
  notificationOf("item/reasoning/summaryTextDelta", { ...here, itemId: text, summaryIndex: z.number(), delta: text }),
  notificationOf("item/reasoning/textDelta", { ...here, itemId: text, contentIndex: z.number(), delta: text }),
  notificationOf("item/commandExecution/outputDelta", { ...here, itemId: text, delta: text }),
  notificationOf("item/commandExecution/terminalInteraction", { ...here, itemId: text, stdin: text }),
  notificationOf("item/fileChange/outputDelta", { ...here, itemId: text, delta: text }),
  notificationOf("item/mcpToolCall/progress", { ...here, itemId: text, message: text }),
  notificationOf("item/autoApprovalReview/started", { ...here, reviewId: text, review: Review }),
  notificationOf("item/autoApprovalReview/completed", { ...here, reviewId: text, review: Review }),
  notificationOf("autoApprovalReview/strictReviewRequired", here),
  notificationOf("serverRequest/resolved", { threadId: text, requestId: z.union([text, z.number()]) }),
  notificationOf("hook/started", { threadId: text, run: HookRun }),
  notificationOf("hook/completed", { threadId: text, run: HookRun }),
  notificationOf("model/rerouted", { ...here, fromModel: text, toModel: text, reason: text }),
  notificationOf("modelProvider/authRecoveryStarted", { ...here, provider: text, message: text }),
  notificationOf("modelProvider/authRecoveryCompleted", { ...here, provider: text, message: text }),
  notificationOf("mcpServer/startupStatus/updated", { threadId: maybe, name: text, status: text, error: maybe }),
  notificationOf("warning", { threadId: maybe, message: text }),
  notificationOf("guardianWarning", { threadId: text, message: text }),
  notificationOf("deprecationNotice", { summary: text, details: maybe }),
  notificationOf("configWarning", { summary: text, details: maybe, path: maybe }),
]);

export type CodexNotification = z.infer<typeof CodexNotification>;

const optional = z.unknown();

const asks = <Method extends string, Params extends z.ZodRawShape>(method: Method, params: Params) =>
  z.looseObject({ method: z.literal(method), params: z.looseObject(params) });

const UserQuestion = z.looseObject({
  id: text,
  header: text,
  question: text,
  isOther: z.boolean().nullish(),
  isSecret: z.boolean().nullish(),
  options: z.array(z.looseObject({ label: text, description: text })).nullish(),
});

/** The requests we can answer. Any other is refused with an error. */
export const CodexRequest = z.discriminatedUnion("method", [
  asks("item/commandExecution/requestApproval", {
    ...here,
    itemId: text,
    kind: maybe,
    command: maybe,
    cwd: maybe,
    reason: maybe,
    proposedExecpolicyAmendment: z.array(text).nullish(),
    networkApprovalContext: z.looseObject({ host: text }).nullish(),
    availableDecisions: z.array(optional).nullish(),
  }),
  asks("item/fileChange/requestApproval", { ...here, itemId: text, reason: maybe, grantRoot: maybe }),
  asks("item/tool/requestUserInput", {
    ...here,
    itemId: text,
    questions: z.array(UserQuestion),
    isBlocking: z.boolean().nullish(),
    autoResolutionMs: z.number().nullish(),
  }),
  asks("item/permissions/requestApproval", {
    ...here,
    itemId: text,
    cwd: text,
    reason: maybe,
    permissions: z.looseObject({ fileSystem: optional, network: optional }),
  }),
  asks("item/tool/call", { ...here, callId: text, tool: text }),
  asks("mcpServer/elicitation/request", {
    threadId: text,
    turnId: maybe,
    serverName: text,
    mode: text,
    message: text,
    requestedSchema: optional,
    url: maybe,
    _meta: optional,
  }),
  asks("applyPatchApproval", {
    conversationId: text,
    callId: text,
    fileChanges: z.record(text, optional),
    reason: maybe,
  }),
  asks("execCommandApproval", { conversationId: text, callId: text, command: z.array(text), cwd: text, reason: maybe }),
]);

export type CodexRequest = z.infer<typeof CodexRequest>;

/** Answers to `thread/start`, `thread/resume` and `thread/fork`; and to `turn/start`. */
export const ThreadResult = z.looseObject({
  thread: Thread,
  model: maybe,
  cwd: maybe,
  approvalPolicy: z.unknown(),
  sandbox: z.unknown(),
  reasoningEffort: maybe,
});

export type ThreadResult = z.infer<typeof ThreadResult>;

export const TurnResult = z.looseObject({ turn: Turn });

export type TurnResult = z.infer<typeof TurnResult>;
