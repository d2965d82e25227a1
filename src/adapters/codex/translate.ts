/** Codex → reports. An app-server speaks for many threads; the session's own is its conversation, others are agents. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import { disconnect, expire, hear, overhear, type RpcFailure, type RpcLine } from "../../core/rpc.ts";
import {
  type CodexNotification,
  isCodexNotification,
  isTurnResult,
  type NotificationOf,
} from "../../dialects/codex.ts";
import { encode } from "./encode.ts";
import {
  codeOf,
  onConnected,
  onInitialized,
  onInitializeFailed,
  onThread,
  onThreadFailed,
  refusedReport,
} from "./handshake.ts";
import {
  onBlockDelta,
  onItemCompleted,
  onItemStarted,
  onToolDelta,
  openBlock,
  placeOf,
  rawPlace,
  summaryPlace,
} from "./items.ts";
import { onHook, onNotice, onReview } from "./notices.ts";
import { onHostAnswer, onRequest, onResolved } from "./requests.ts";
import { isSilent } from "./silent.ts";
import { isLive, type Purpose, reset, type State, start, threadOf } from "./state.ts";
import {
  onDiff,
  onError,
  onPlan,
  onSettings,
  onTurnCompleted,
  onTurnKnown,
  onTurnStarted,
  startThread,
} from "./turns.ts";
import { onUsage } from "./usage.ts";

export const adapter: Fold<AdapterInput<RpcLine>, Report | Send, State> = {
  start,
  step(state, input) {
    state.at = input.at;
    switch (input.type) {
      case "line":
        return input.from === "host" ? onHostLine(state, input.line) : onLine(state, input);
      case "command":
        return encode(state, input);
      case "connected":
        return onConnected(state, input);
      case "disconnected":
        return onDisconnected(state, input.at);
      case "tick":
        return expire(state.rpc, input.at).flatMap((late) => onFailure(state, { ...late, at: input.at }));
      case "response":
        return [];
      default:
        return unreachable(input);
    }
  },
};

interface Heard {
  readonly line: RpcLine;
  readonly at: number;
}

function onLine(state: State, { line, at }: Heard): readonly (Report | Send)[] {
  const heard = hear(state.rpc, line);
  switch (heard.type) {
    case "notification":
      if (isCodexNotification(line)) return onNotification(state, { line, at });
      return isSilent(heard.method) ? [] : [unparsed(line)];
    case "request":
      return onRequest(state, heard);
    case "result":
      return [...onResult(state, { context: heard.context, result: heard.result, at }), ...flush(state, at)];
    case "failure":
      return onFailure(state, { context: heard.context, failure: heard.failure, at });
    case "stray":
      // Answers to what other sessions of the connection asked.
      return [];
    default:
      return unreachable(heard);
  }
}

function unparsed(line: RpcLine): Report {
  const error = `Codex said something we do not know: ${line.method}`;
  return { type: "unparsed", error, location: "codex", text: JSON.stringify(line) };
}

function onNotification(
  state: State,
  { line, at }: { line: CodexNotification; at: number },
): readonly (Report | Send)[] {
  switch (line.method) {
    case "item/started":
      return onItemStarted(state, line.params);
    case "item/completed":
      return onItemCompleted(state, line.params);
    case "turn/started":
      return onTurnStarted(state, line.params, at);
    case "turn/completed":
      return onTurnCompleted(state, line.params, at);
    case "turn/plan/updated":
      return onPlan(state, line.params);
    case "turn/diff/updated":
      return onDiff(state, line.params);
    case "error":
      return onError(state, line.params);
    case "thread/started":
      return startThread(state, line.params.thread);
    case "thread/name/updated":
      return [{ type: "session", title: line.params.threadName ?? "" }];
    case "thread/settings/updated":
      return onSettings(state, line.params);
    case "thread/closed":
      // Unloaded for being idle: the next prompt resumes it.
      if (line.params.threadId === state.thread && state.phase === "ready") state.phase = "none";
      return [];
    case "thread/tokenUsage/updated":
      return onUsage(threadOf(state, line.params.threadId), line.params);
    case "serverRequest/resolved":
      return onResolved(state, line.params.requestId);
    case "hook/started":
    case "hook/completed":
      return onHook(state, line);
    case "item/autoApprovalReview/started":
    case "item/autoApprovalReview/completed":
      return onReview(state, line);
    case "item/agentMessage/delta":
    case "item/plan/delta":
    case "item/reasoning/summaryPartAdded":
    case "item/reasoning/summaryTextDelta":
    case "item/reasoning/textDelta":
    case "item/commandExecution/outputDelta":
    case "item/fileChange/outputDelta":
    case "item/mcpToolCall/progress":
      return onPiece(state, line);
    default:
      return onNotice(state, line);
  }
}

type Piece = NotificationOf<
  | "item/agentMessage/delta"
  | "item/plan/delta"
  | "item/reasoning/summaryPartAdded"
  | "item/reasoning/summaryTextDelta"
  | "item/reasoning/textDelta"
  | "item/commandExecution/outputDelta"
  | "item/fileChange/outputDelta"
  | "item/mcpToolCall/progress"
>;

/** A fragment of an item that is being written. */
function onPiece(state: State, line: Piece): Report[] {
  const { threadId, turnId, itemId } = line.params;
  const place = placeOf(threadOf(state, threadId), { turnId, itemId });
  switch (line.method) {
    case "item/agentMessage/delta":
    case "item/plan/delta":
      return onBlockDelta(place, { part: "text", delta: line.params.delta });
    case "item/reasoning/summaryPartAdded":
      return openBlock(summaryPlace(place, line.params.summaryIndex), { part: "reasoning" });
    case "item/reasoning/summaryTextDelta": {
      const { summaryIndex, delta } = line.params;
      return onBlockDelta(summaryPlace(place, summaryIndex), { part: "reasoning", delta });
    }
    case "item/reasoning/textDelta": {
      const { contentIndex, delta } = line.params;
      return onBlockDelta(rawPlace(place, contentIndex), { part: "reasoning", delta, raw: true });
    }
    case "item/commandExecution/outputDelta":
    case "item/fileChange/outputDelta":
      return onToolDelta(state, place, line.params.delta);
    case "item/mcpToolCall/progress":
      return onToolDelta(state, place, `${line.params.message}\n`);
    default:
      return unreachable(line);
  }
}

interface Answered {
  readonly context: Purpose;
  readonly at: number;
}

function onResult(state: State, { context, result, at }: Answered & { result: unknown }): (Report | Send)[] {
  switch (context.type) {
    case "initialize":
      return onInitialized(state, at);
    case "thread":
      return onThread(state, { result, resumed: context.resumed, at });
    case "turn":
      return isTurnResult(result) ? onTurnKnown(state, { turnId: result.turn.id, at }) : [];
    case "own":
    case "steer":
    case "interrupt":
    case "other":
      return [];
    default:
      return unreachable(context);
  }
}

/** What has waited for the thread is said when it is there. */
function flush(state: State, at: number): (Report | Send)[] {
  if (state.phase !== "ready" || state.waiting.length === 0) return [];
  const { waiting } = state;
  state.waiting = [];
  return waiting.flatMap((command) => encode(state, { command, at }));
}

function onFailure(state: State, { context, failure, at }: Answered & { failure: RpcFailure }): (Report | Send)[] {
  switch (context.type) {
    case "initialize":
      return onInitializeFailed(state, failure, at);
    case "thread":
      return onThreadFailed(state, failure, at);
    case "turn":
    case "own":
      return onTurnRefused(state, failure);
    case "interrupt":
      // It ended by itself in the meantime, or there never was one.
      if (!isLive(state)) return refusedReport(failure);
      return context.own ? [{ type: "end", reason: "aborted" }] : [];
    case "steer":
    case "other":
      return refusedReport(failure);
    default:
      return unreachable(context);
  }
}

/** Codex would not begin: live, the turn that was opened for it ends; a recording's turn was never begun. */
function onTurnRefused(state: State, failure: RpcFailure): Report[] {
  state.requested = false;
  if (!isLive(state)) return refusedReport(failure);
  if (state.interruptWhenKnown) {
    state.interruptWhenKnown = false;
    return [{ type: "end", reason: "aborted" }];
  }
  // A thread that Codex no longer knows is opened again with the next prompt.
  if (codeOf(failure) === "native_session_not_found") state.phase = "none";
  const error = { message: failure.message, code: codeOf(failure), details: { rpc_code: failure.code } };
  return [{ type: "end", reason: "error", error }];
}

function onDisconnected(state: State, at: number): Report[] {
  disconnect(state.rpc);
  const { early } = state;
  reset(state, at);
  return early;
}

/** What we said, in a recording. Answers are understood by what they answer, requests by what will answer them. */
function onHostLine(state: State, line: RpcLine): readonly Report[] {
  const { id, method, params } = line;
  if (id === undefined) return [];
  if (method === undefined) return "result" in line ? onHostAnswer(state, { id, result: line.result }) : [];
  const context = purposeOf(method);
  overhear(state.rpc, { id, method, context, expiresAt: Number.POSITIVE_INFINITY });
  if (context.type === "turn" || context.type === "own") state.requested = true;
  if (context.type === "interrupt" && isOwn(state, params)) state.interrupted = true;
  return [];
}

const purposes: ReadonlyMap<string, Purpose> = new Map<string, Purpose>([
  ["initialize", { type: "initialize" }],
  ["thread/start", { type: "thread", resumed: false }],
  ["thread/resume", { type: "thread", resumed: true }],
  ["thread/fork", { type: "thread", resumed: true }],
  ["turn/start", { type: "turn" }],
  ["turn/steer", { type: "steer" }],
  ["turn/interrupt", { type: "interrupt", own: false }],
  ["thread/compact/start", { type: "own" }],
  ["thread/shellCommand", { type: "own" }],
]);

const purposeOf = (method: string): Purpose => purposes.get(method) ?? { type: "other" };

const isOwn = ({ thread }: State, params: unknown): boolean =>
  typeof params === "object" && params !== null && "threadId" in params && params.threadId === thread;
