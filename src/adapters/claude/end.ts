/** `result`: the CLI's word that a turn is over, why, and what it used. */

import { defined } from "../../core/defined.ts";
import { lookUp } from "../../core/look-up.ts";
import type { EndReport, Report } from "../../core/report.ts";
import type { ClaudeResult } from "../../dialects/claude.ts";
import { isString } from "../../dialects/shape.ts";
import type { EndReason, ErrorInfo } from "../../protocol/events.ts";
import { failOpen } from "./blocks.ts";
import { forgetTurn, type State } from "./state.ts";
import { turnUsage } from "./usage.ts";

export function onResult(state: State, line: ClaudeResult): Report[] {
  const out = failOpen(state.streaming);
  out.push(...turnUsage(state, line));
  const answersUs = noteAnswered(state, line);
  const says = !state.working && (line.is_error || (!state.settled && (line.result ?? "") !== ""));
  const end = endOf(state, line);
  forgetTurn(state);
  state.settled = true;
  if (!answersUs) {
    // The agent's own turn came between our message and its answer: the turn of our message goes on.
    state.working = true;
    return out;
  }
  out.push({ type: "end", reason: end.reason, error: end.error, says });
  return out;
}

/** False only when the CLI ran a turn of its own while a message of ours still waits for its answer. */
function noteAnswered(state: State, { user_message_uuids, origin }: ClaudeResult): boolean {
  if (user_message_uuids !== undefined) {
    for (const uuid of user_message_uuids) state.sent.delete(uuid);
    return true;
  }
  if (state.sent.size === 0) return true;
  const waiting = new Set(state.waiting.map(({ uuid }) => uuid));
  const unanswered = [...state.sent].some((uuid) => !waiting.has(uuid));
  if (origin?.kind !== undefined && state.namesMessages && unanswered) return false;
  for (const uuid of state.sent) if (!waiting.has(uuid)) state.sent.delete(uuid);
  return true;
}

type End = Pick<EndReport, "reason" | "error">;

/** `is_error` first: the subtype says `success` on provider errors, and older versions say `completed` as well. */
function endOf(state: State, line: ClaudeResult): End {
  const { terminal_reason, subtype, stop_reason } = line;
  if (!line.is_error) return { reason: naturalReasons[stop_reason ?? ""] ?? "completed" };
  if (state.gaveUp !== null) return failed(line, { code: "authentication_failed", message: state.gaveUp });
  if (terminal_reason?.startsWith("aborted") === true) return { reason: state.rejected ? "rejected" : "aborted" };
  if (stop_reason === "refusal") return { ...failed(line, { code: "refusal" }), reason: "refusal" };
  if (subtype === "error_max_turns") return { ...failed(line, { code: "max_steps" }), reason: "max_steps" };
  if (subtype === "error_max_budget_usd" || terminal_reason === "budget_exhausted") {
    return { ...failed(line, { code: "budget" }), reason: "budget" };
  }
  if (stop_reason === "max_tokens" || (line.api_error ?? state.lastError) === OUTPUT_LIMIT) {
    return { ...failed(line, { code: OUTPUT_LIMIT }), reason: "length" };
  }
  if (terminal_reason === "prompt_too_long") return failed(line, { code: "context_overflow" });
  const code = codeOf(line, messageOf(line)) ?? state.lastError;
  return failed(line, { code: code === null || code === "unknown" ? "agent_error" : code });
}

const OUTPUT_LIMIT = "max_output_tokens";

const naturalReasons: Readonly<Record<string, EndReason>> = { refusal: "refusal", max_tokens: "length" };

function failed(line: ClaudeResult, known: { code: string; message?: string }): End {
  const message = known.message ?? messageOf(line);
  const error: ErrorInfo = {
    message: advice(line, message),
    code: known.code,
    details: defined({
      subtype: line.subtype,
      terminal_reason: line.terminal_reason,
      status: line.api_error_status,
    }),
  };
  return { reason: "error", error };
}

function messageOf(line: ClaudeResult): string {
  if (line.result !== undefined && line.result !== "") return line.result;
  if (line.error !== undefined && line.error !== "") return line.error;
  // Diagnostics of the CLI for itself are not for people.
  const errors = (line.errors ?? []).filter(isString).filter((error) => !error.startsWith("[ede_diagnostic]"));
  if (errors.length > 0) return errors.join("\n");
  return lookUp(outcomes, line.subtype) ?? `Claude Code ended the turn with ${line.subtype}.`;
}

const outcomes: Readonly<Record<string, string>> = {
  error_max_turns: "The limit of model turns was reached.",
  error_max_budget_usd: "The budget for this session is used up.",
  error_during_execution: "Claude Code stopped with an error and did not say which.",
};

const NO_CONVERSATION = "No conversation found";
const NO_LOGIN = "Not logged in";

function codeOf(line: ClaudeResult, message: string): string | null {
  if (line.startup_failure_reason !== undefined) return line.startup_failure_reason;
  if (message.startsWith(NO_CONVERSATION)) return "native_session_not_found";
  if (message.startsWith(NO_LOGIN)) return "authentication_failed";
  return line.api_error_type ?? line.api_error ?? statusCodes[line.api_error_status ?? 0] ?? null;
}

const statusCodes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_failed",
  403: "permission_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

/** What to do about it, where we know. */
function advice(line: ClaudeResult, message: string): string {
  if (line.startup_failure_reason === "bypass_root") return ROOT_REFUSED;
  if (message.startsWith(NO_CONVERSATION)) {
    return `${message}. It may have been deleted, or begun in another folder; start a new session instead.`;
  }
  if (message.startsWith(NO_LOGIN)) {
    return `${message}. Set ANTHROPIC_API_KEY, or run \`claude\` once and log in.`;
  }
  return message;
}

export const ROOT_REFUSED =
  "Claude Code refuses permission mode bypass for root. Run as another user, choose another permission mode, or set " +
  "IS_SANDBOX=1 in the session's environment if this machine is a sandbox.";
