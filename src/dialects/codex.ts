/**
 * What `codex app-server` says: JSON-RPC without the `jsonrpc` field. Notifications and requests that mean something to
 * us are described here field by field; those that are ignored are named beside the adapter.
 */
import { isCodexItem } from "./codex-items.ts";
import type { CodexNotification, CodexRequest, ThreadResult, TurnResult } from "./codex-schema.ts";
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
export type {
  CodexNotification,
  CodexRequest,
  Thread,
  ThreadResult,
  TokenCounts,
  TurnError,
  TurnResult,
} from "./codex-schema.ts";

export const turnStates = ["completed", "interrupted", "failed", "inProgress"] as const;

export const stepStates = ["pending", "inProgress", "completed"] as const;

export type NotificationOf<M extends CodexNotification["method"]> = Extract<CodexNotification, { method: M }>;

export type ParamsOf<M extends CodexNotification["method"]> = NotificationOf<M>["params"];

export type RequestOf<M extends CodexRequest["method"]> = Extract<CodexRequest, { method: M }>["params"];

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
