/** Amp's words for what went wrong → our error codes, and what to do about it where we know. */
import type { Report } from "../../core/report.ts";
import { failedEnd } from "../../core/report-builders.ts";

const NEEDS_APPROVAL = /require user approval/;

export const failure = (message: string, details: unknown): Report[] =>
  failedEnd({ message: explained(message), code: codeOf(message), details });

const explained = (message: string): string =>
  NEEDS_APPROVAL.test(message)
    ? `${message}. Nobody can be asked in this mode: allow or reject the tool in Amp's settings (amp.permissions).`
    : message;

/** Errors of the provider begin with its HTTP status, or are one of Amp's own words for it. */
function codeOf(message: string): string {
  if (NEEDS_APPROVAL.test(message)) return "approval_not_supported";
  if (/^unauthorized\b/i.test(message)) return "authentication_failed";
  if (/\boverloaded\b/i.test(message)) return "overloaded";
  const status = /^(\d{3}) /.exec(message)?.[1];
  if (status === undefined) return "agent_error";
  if (status === "401" || status === "403") return "authentication_failed";
  if (status === "529") return "overloaded";
  return status === "429" ? "rate_limited" : "provider_error";
}
