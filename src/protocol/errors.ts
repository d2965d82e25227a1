/** What goes wrong when a caller misuses us: a closed list of codes, each with its HTTP status. */

export const errorStatus = {
  invalid_request: 400,
  unsupported_agent: 400,
  directory_not_found: 400,
  mode_not_supported: 400,
  not_supported: 400,
  token_invalid: 401,
  host_not_allowed: 403,
  origin_not_allowed: 403,
  folder_not_trusted: 403,
  person_only: 403,
  agent_not_installed: 404,
  session_not_found: 404,
  permission_not_found: 404,
  question_not_found: 404,
  prompt_not_found: 404,
  worktree_not_found: 404,
  conversation_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  session_already_exists: 409,
  already_answered: 409,
  session_busy: 409,
  session_ended: 409,
  session_damaged: 409,
  session_owned: 409,
  key_missing: 409,
  worktree_changed: 409,
  address_in_use: 409,
  conversation_in_use: 409,
  events_lost: 410,
  body_too_large: 413,
  conversation_unreadable: 422,
  install_failed: 500,
  internal: 500,
  stream_error: 502,
  command_interrupted: 502,
  host_unavailable: 503,
  storage_error: 507,
  timeout: 504,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export const errorTitle: Readonly<Record<ErrorCode, string>> = {
  invalid_request: "The request is not valid",
  unsupported_agent: "No such agent",
  directory_not_found: "The directory does not exist",
  mode_not_supported: "The agent does not have this mode",
  not_supported: "The agent cannot do this",
  token_invalid: "The token is missing or wrong",
  host_not_allowed: "This Host header is not allowed",
  origin_not_allowed: "Pages of this origin are not allowed",
  folder_not_trusted: "The folder is not trusted",
  person_only: "Only the person may do this",
  agent_not_installed: "The agent is not installed",
  session_not_found: "No such session",
  permission_not_found: "No such permission request",
  question_not_found: "No such question",
  prompt_not_found: "No such prompt in the queue",
  worktree_not_found: "No such worktree",
  conversation_not_found: "No such conversation in the agent's files",
  not_found: "No such route",
  method_not_allowed: "This route does not take this method",
  session_already_exists: "A session of this id exists",
  already_answered: "The request has been answered",
  session_busy: "The session is busy",
  session_ended: "The session has ended",
  session_damaged: "The stored session is damaged",
  session_owned: "Another process owns the session",
  key_missing: "A provider key is missing",
  worktree_changed: "The worktree has changes that are not committed",
  address_in_use: "The address is in use",
  conversation_in_use: "Another process has the conversation open",
  events_lost: "The events after this one are gone",
  body_too_large: "The body is too large",
  conversation_unreadable: "The conversation cannot be read",
  install_failed: "The agent could not be installed",
  internal: "Something went wrong inside Franca",
  stream_error: "The agent's stream failed",
  command_interrupted: "The session's host ended while it ran the command",
  host_unavailable: "The session's host does not answer",
  storage_error: "The event log could not be written",
  timeout: "It took too long",
};

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly status: number;

  constructor(code: ErrorCode, detail: string, options?: { readonly cause?: unknown }) {
    super(detail, options);
    this.code = code;
    this.status = errorStatus[code];
  }
}

/** Whether something that was thrown says one of these. */
export const hasCode = (error: unknown, ...codes: readonly ErrorCode[]): boolean =>
  error instanceof ApiError && codes.includes(error.code);
