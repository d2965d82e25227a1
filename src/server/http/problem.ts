/** Errors as `application/problem+json`, made in one place: what a caller did wrong, and our own mistakes. */
import { ApiError, type ErrorCode, errorStatus, errorTitle } from "../../protocol/errors.ts";
import type { Problem } from "../../protocol/resources.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Reply } from "./reply.ts";

export const PROBLEM_TYPE = "application/problem+json";

export function problem(code: ErrorCode, detail: string): Problem {
  return { type: `urn:franca:error:${code}`, title: errorTitle[code], status: errorStatus[code], detail, code };
}

/** What is not an `ApiError` is our bug: logged whole, answered without its details. */
export function asApiError(error: unknown, { logger, path }: { logger: Logger; path: string }): ApiError {
  if (error instanceof ApiError) return error;
  logger.error("request.failed", { path, error });
  return new ApiError("internal", "An unexpected error; the daemon's log has the details.", { cause: error });
}

export function problemReply(error: ApiError, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status: error.status,
    headers: { "content-type": PROBLEM_TYPE, ...headers },
    body: JSON.stringify(problem(error.code, error.message)),
  };
}
