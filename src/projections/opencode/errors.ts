/** Errors and ends of turns in OpenCode's words: a name from its closed list, and a sentence. */
import { defined } from "../../core/defined.ts";
import { finishOf } from "../../core/finish.ts";
import type { OpenCodeError } from "../../dialects/opencode.ts";
import type { EndReason, ErrorInfo, TurnEnd } from "../../protocol/events.ts";
import { recordOf } from "./tools.ts";

export function errorOf(
  { message, code, details }: { message: string; code: string | null; details?: unknown },
  { provider }: { provider: string },
): OpenCodeError {
  const known = nativeError(details);
  if (known !== null) return known;
  const word = (code ?? "").toLowerCase();
  if (/context|overflow|prompt_too_long/.test(word)) return { name: "ContextOverflowError", data: { message } };
  if (/content_filter|refusal/.test(word)) return { name: "ContentFilterError", data: { message } };
  if (/auth|credential|api_key|login/.test(word)) {
    return { name: "ProviderAuthError", data: { providerID: provider, message } };
  }
  const { statusCode, status, isRetryable } = recordOf(details);
  const http = [statusCode, status].find((value) => typeof value === "number" && Number.isInteger(value));
  if (typeof http === "number" && http >= 100) {
    return { name: "APIError", data: { message, statusCode: http, isRetryable: isRetryable === true } };
  }
  return { name: "UnknownError", data: { message } };
}

/** What the OpenCode agent said itself is said again as it was, without fields that clients do not know. */
function nativeError(details: unknown): OpenCodeError | null {
  const { name, data } = recordOf(details);
  const { message, statusCode, isRetryable, responseBody, responseHeaders, metadata, providerID } = recordOf(data);
  if (typeof name !== "string" || typeof message !== "string") return null;
  switch (name) {
    case "UnknownError":
    case "MessageAbortedError":
    case "ContentFilterError":
    case "ContextOverflowError":
      return { name, data: { message } };
    case "ProviderAuthError":
      return typeof providerID === "string" ? { name, data: { providerID, message } } : null;
    case "APIError":
      return {
        name,
        data: defined({
          message,
          statusCode: typeof statusCode === "number" ? statusCode : undefined,
          isRetryable: isRetryable === true,
          responseHeaders: isTexts(responseHeaders) ? responseHeaders : undefined,
          responseBody: typeof responseBody === "string" ? responseBody : undefined,
          metadata: isTexts(metadata) ? metadata : undefined,
        }),
      };
    default:
      return null;
  }
}

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" && value !== null && Object.values(value).every((one) => typeof one === "string");

const sentences: Readonly<Record<EndReason, string | null>> = {
  completed: null,
  rejected: null,
  length: null,
  max_steps: null,
  aborted: "Aborted",
  error: "The agent failed without saying why",
  interrupted: "The agent's stream ended before its turn was over",
  content_filter: "The response was blocked by the provider's content filter",
  refusal: "The model refused to answer",
  budget: "The budget of this turn is used up",
};

/** The error that a turn's end puts on its message; null where the end says enough by its finish reason. */
export function endError({ reason, error }: TurnEnd, { provider }: { provider: string }): OpenCodeError | null {
  const sentence = sentences[reason];
  if (reason === "aborted") return { name: "MessageAbortedError", data: { message: sentence ?? "" } };
  if (reason === "content_filter" || reason === "refusal") {
    return { name: "ContentFilterError", data: { message: error?.message ?? sentence ?? "" } };
  }
  if (error !== undefined && reason !== "completed") return errorOf(error, { provider });
  return sentence === null ? null : { name: "UnknownError", data: { message: sentence } };
}

const finishes: Readonly<Record<EndReason, string | null>> = {
  completed: "stop",
  rejected: "tool-calls",
  length: "length",
  content_filter: "content-filter",
  refusal: "content-filter",
  // In OpenCode itself the last step is asked for a text without tools, and that is how the turn stops.
  max_steps: "stop",
  aborted: null,
  error: null,
  interrupted: null,
  budget: null,
};

/** How a turn's last message finished. A turn that completed did not stop for tools, whatever its last step said. */
export function endFinish({ reason }: TurnEnd, { last }: { last: string | null }): string | null {
  if (reason === "completed" && last !== null && last !== "tool-calls" && last !== "unknown") return last;
  return finishes[reason];
}

/** Events of an older log have the agent's own word. */
export const stepFinish = (finish: string | null): string => (finish === null ? "unknown" : finishOf(finish));

export const messageOf = (error: OpenCodeError | ErrorInfo): string =>
  "name" in error ? (error.data?.message ?? error.name) : error.message;
