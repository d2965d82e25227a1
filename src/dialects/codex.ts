/**
 * What `codex app-server` says: JSON-RPC without the `jsonrpc` field. Notifications and requests that mean something to
 * us are described here field by field; those that are ignored are named beside the adapter.
 */
import * as z from "zod";
import { CodexItem, isCodexItem } from "./codex-items.ts";
import {
  anyOf,
  byTag,
  type Check,
  fields,
  isBoolean,
  isListOf,
  isNumber,
  isOneOf,
  isShape,
  isString,
  nullish,
} from "./shape.ts";

export type { CodexItem, FileChange, ItemOf } from "./codex-items.ts";
export { itemTypes } from "./codex-items.ts";

const text = z.string();
const maybe = z.string().nullish();
const here = { threadId: z.string(), turnId: z.string() };

const turnStates = ["completed", "interrupted", "failed", "inProgress"] as const;
const stepStates = ["pending", "inProgress", "completed"] as const;

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
export type NotificationOf<M extends CodexNotification["method"]> = Extract<CodexNotification, { method: M }>;
export type ParamsOf<M extends CodexNotification["method"]> = NotificationOf<M>["params"];

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
export type RequestOf<M extends CodexRequest["method"]> = Extract<CodexRequest, { method: M }>["params"];

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

const maybeText = nullish(isString);
const place = { threadId: isString, turnId: isString };
const ofThread = fields({ threadId: isString });
const pieceOf = fields({ ...place, itemId: isString, delta: isString });
const isTurnError = fields({ message: isString, additionalDetails: maybeText });
const isTurnShape = fields({
  id: isString,
  status: isOneOf(turnStates),
  error: nullish(isTurnError),
  rootTurnId: maybeText,
});
const isThreadShape = fields({
  id: isString,
  cwd: maybeText,
  cliVersion: maybeText,
  model: maybeText,
  name: maybeText,
  parentThreadId: maybeText,
  agentNickname: maybeText,
});
const isCounts = fields({
  inputTokens: isNumber,
  cachedInputTokens: isNumber,
  cacheWriteInputTokens: nullish(isNumber),
  outputTokens: isNumber,
  reasoningOutputTokens: isNumber,
});
const hook = fields({
  threadId: isString,
  run: fields({
    id: isString,
    eventName: isString,
    status: isString,
    statusMessage: maybeText,
    entries: isListOf(fields({ text: isString })),
  }),
});
const review = fields({ ...place, reviewId: isString, review: fields({ status: isString, rationale: maybeText }) });
const recovery = fields({ ...place, provider: isString, message: isString });

const paramChecks: Readonly<Record<CodexNotification["method"], Check>> = {
  error: fields({ ...place, willRetry: isBoolean, error: isTurnError }),
  "thread/started": fields({ thread: isThreadShape }),
  "thread/name/updated": fields({ threadId: isString, threadName: maybeText }),
  "thread/settings/updated": fields({
    threadId: isString,
    threadSettings: fields({ model: isString, effort: maybeText }),
  }),
  "thread/goal/updated": fields({ threadId: isString, goal: fields({ objective: isString, status: isString }) }),
  "thread/closed": ofThread,
  "thread/archived": ofThread,
  "thread/unarchived": ofThread,
  "thread/deleted": ofThread,
  "thread/reverted": ofThread,
  "thread/tokenUsage/updated": fields({ ...place, tokenUsage: fields({ total: isCounts, last: isCounts }) }),
  "turn/started": fields({ threadId: isString, turn: isTurnShape }),
  "turn/completed": fields({ threadId: isString, turn: isTurnShape }),
  "turn/diff/updated": fields({ ...place, diff: isString }),
  "turn/plan/updated": fields({
    ...place,
    explanation: maybeText,
    plan: isListOf(fields({ step: isString, status: isOneOf(stepStates) })),
  }),
  "item/started": fields({ ...place, item: isCodexItem }),
  "item/completed": fields({ ...place, item: isCodexItem }),
  "item/agentMessage/delta": pieceOf,
  "item/plan/delta": pieceOf,
  "item/reasoning/summaryPartAdded": fields({ ...place, itemId: isString, summaryIndex: isNumber }),
  "item/reasoning/summaryTextDelta": fields({ ...place, itemId: isString, summaryIndex: isNumber, delta: isString }),
  "item/reasoning/textDelta": fields({ ...place, itemId: isString, contentIndex: isNumber, delta: isString }),
  "item/commandExecution/outputDelta": pieceOf,
  "item/commandExecution/terminalInteraction": fields({ ...place, itemId: isString, stdin: isString }),
  "item/fileChange/outputDelta": pieceOf,
  "item/mcpToolCall/progress": fields({ ...place, itemId: isString, message: isString }),
  "item/autoApprovalReview/started": review,
  "item/autoApprovalReview/completed": review,
  "autoApprovalReview/strictReviewRequired": fields(place),
  "serverRequest/resolved": fields({ threadId: isString, requestId: anyOf(isString, isNumber) }),
  "hook/started": hook,
  "hook/completed": hook,
  "model/rerouted": fields({ ...place, fromModel: isString, toModel: isString, reason: isString }),
  "modelProvider/authRecoveryStarted": recovery,
  "modelProvider/authRecoveryCompleted": recovery,
  "mcpServer/startupStatus/updated": fields({
    threadId: maybeText,
    name: isString,
    status: isString,
    error: maybeText,
  }),
  warning: fields({ threadId: maybeText, message: isString }),
  guardianWarning: fields({ threadId: isString, message: isString }),
  deprecationNotice: fields({ summary: isString, details: maybeText }),
  configWarning: fields({ summary: isString, details: maybeText, path: maybeText }),
};

const isQuestion = fields({
  id: isString,
  header: isString,
  question: isString,
  isOther: nullish(isBoolean),
  isSecret: nullish(isBoolean),
  options: nullish(isListOf(fields({ label: isString, description: isString }))),
});

const requestChecks: Readonly<Record<CodexRequest["method"], Check>> = {
  "item/commandExecution/requestApproval": fields({
    ...place,
    itemId: isString,
    kind: maybeText,
    command: maybeText,
    cwd: maybeText,
    reason: maybeText,
    proposedExecpolicyAmendment: nullish(isListOf(isString)),
    networkApprovalContext: nullish(fields({ host: isString })),
    availableDecisions: nullish(Array.isArray),
  }),
  "item/fileChange/requestApproval": fields({ ...place, itemId: isString, reason: maybeText, grantRoot: maybeText }),
  "item/tool/requestUserInput": fields({
    ...place,
    itemId: isString,
    questions: isListOf(isQuestion),
    isBlocking: nullish(isBoolean),
    autoResolutionMs: nullish(isNumber),
  }),
  "item/permissions/requestApproval": fields({
    ...place,
    itemId: isString,
    cwd: isString,
    reason: maybeText,
    permissions: isShape,
  }),
  "item/tool/call": fields({ ...place, callId: isString, tool: isString }),
  "mcpServer/elicitation/request": fields({
    threadId: isString,
    turnId: maybeText,
    serverName: isString,
    mode: isString,
    message: isString,
    url: maybeText,
  }),
  applyPatchApproval: fields({ conversationId: isString, callId: isString, fileChanges: isShape, reason: maybeText }),
  execCommandApproval: fields({
    conversationId: isString,
    callId: isString,
    command: isListOf(isString),
    cwd: isString,
    reason: maybeText,
  }),
};

export const translatedNotifications: readonly string[] = Object.keys(paramChecks);
export const answeredRequests: readonly string[] = Object.keys(requestChecks);

/** What is checked is what the line's method carries. */
const byMethod = (checks: Readonly<Record<string, Check>>): Check =>
  byTag("method", Object.fromEntries(Object.entries(checks).map(([method, params]) => [method, fields({ params })])));

const notification = byMethod(paramChecks);
const request = byMethod(requestChecks);
export const isCodexNotification = (value: unknown): value is CodexNotification => notification(value);
export const isCodexRequest = (value: unknown): value is CodexRequest => request(value);

const threadResult = fields({ thread: isThreadShape, model: maybeText, cwd: maybeText, reasoningEffort: maybeText });
const turnResult = fields({ turn: isTurnShape });
export const isThreadResult = (value: unknown): value is ThreadResult => threadResult(value);
export const isTurnResult = (value: unknown): value is TurnResult => turnResult(value);
