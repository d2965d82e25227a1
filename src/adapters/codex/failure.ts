/** Why a turn failed: Codex's error words → our end reasons and error codes. */
import { defined } from "../../core/defined.ts";
import type { EndReport, ErrorReport } from "../../core/report.ts";
import type { TurnError } from "../../dialects/codex.ts";
import { isShape, isString } from "../../dialects/shape.ts";
import type { EndReason, ErrorInfo } from "../../protocol/events.ts";

export function errorInfo(error: TurnError): ErrorInfo {
  const { message, additionalDetails, codexErrorInfo } = error;
  const status = httpStatus(codexErrorInfo);
  const body = bodyOf(message);
  return {
    message: body?.message ?? message,
    code: errorCode(error),
    details: defined({
      codexErrorInfo: codexErrorInfo ?? null,
      body: body === null ? undefined : message,
      additionalDetails: additionalDetails ?? undefined,
      http_status: status ?? undefined,
    }),
  };
}

/** Fatal when the turn will end by it, and not by a limit that the error names. */
export function errorReport(error: TurnError, { own }: { own: boolean }): ErrorReport {
  return { type: "error", ...errorInfo(error), fatal: own && endReason(error) === "error" };
}

export function failedEnd(error: TurnError | null): EndReport {
  if (error === null) {
    const unknown = { message: "The turn failed and Codex did not say why.", code: "agent_error", details: null };
    return { type: "end", reason: "error", error: unknown };
  }
  return { type: "end", reason: endReason(error), error: errorInfo(error) };
}

/** The attempt's number in Codex's own words: "Reconnecting... 2/5". */
export function attemptOf(message: string): number {
  const [, attempt] = /(\d{1,9})\s?\/\s?\d/.exec(message) ?? [];
  return attempt === undefined ? 1 : Number(attempt);
}

const reasons: ReadonlyMap<string, EndReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
  ["cyber_policy", "content_filter"],
  ["misalignment_policy_violation", "content_filter"],
  ["session_budget_exceeded", "budget"],
  ["too_many_denials", "rejected"],
]);

const endReason = (error: TurnError): EndReason => reasons.get(errorCode(error)) ?? "error";

// Quirk: an answer cut by its limit fails the turn, with the reason in the message (transcripts/codex/finish-length).
const INCOMPLETE = /Incomplete response returned, reason: (\w+)/;

function errorCode({ message, codexErrorInfo }: TurnError): string {
  const [, incomplete] = INCOMPLETE.exec(message) ?? [];
  if (incomplete !== undefined) return incomplete;
  const name = typeof codexErrorInfo === "string" ? codexErrorInfo : firstKey(codexErrorInfo);
  if (name === null || name === "other") return bodyOf(message)?.code ?? "agent_error";
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Quirk: a refused request fails with the provider's whole answer as its message (transcripts/codex/error-400). */
function bodyOf(message: string): { readonly message: string; readonly code: string | null } | null {
  if (!message.startsWith("{")) return null;
  const body = parsed(message);
  const error = isShape(body) ? body.error : null;
  if (!isShape(error) || !isString(error.message)) return null;
  const code = [error.code, error.type].find(isString) ?? null;
  return { message: error.message, code };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const firstKey = (value: unknown): string | null =>
  typeof value === "object" && value !== null ? (Object.keys(value)[0] ?? null) : null;

function httpStatus(value: unknown): number | null {
  if (typeof value !== "object" || value === null) return null;
  const [detail] = Object.values(value);
  if (typeof detail !== "object" || detail === null || !("httpStatusCode" in detail)) return null;
  return typeof detail.httpStatusCode === "number" ? detail.httpStatusCode : null;
}
