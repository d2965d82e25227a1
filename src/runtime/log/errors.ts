/** What every log answers to callers who ask for what cannot be. */
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";

export const noSession = (id: SessionId): ApiError => new ApiError("session_not_found", `There is no session ${id}.`);

export const sessionExists = (id: SessionId): ApiError =>
  new ApiError("session_already_exists", `There is a session ${id} already.`);

/** Only the one writer of a session may append to it. */
export const writtenElsewhere = (id: SessionId): ApiError =>
  new ApiError("session_owned", `Another process has written to session ${id}.`);
