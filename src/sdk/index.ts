/** Franca's client library. Runs in Node 20 and later, and in browsers. */
export type { AgentName, KnownAgent } from "../protocol/agents.ts";
export type { Attachment, PermissionReply } from "../protocol/commands.ts";
export { ApiError, type ErrorCode } from "../protocol/errors.ts";
export type * from "../protocol/events.ts";
export type * from "../protocol/items.ts";
export type * from "../protocol/resources.ts";
export type * from "../protocol/webhooks.ts";
export type * from "../protocol/workspaces.ts";
export { type AskOptions, type PromptOptions, TurnError } from "./ask.ts";
export {
  type Client,
  type CreateOptions,
  connect,
  type FollowAllOptions,
  type PlacedEvent,
  type SessionListQuery,
  type StatusChange,
  statusAfter,
  type UsageQuery,
} from "./client.ts";
export { ImpostorError } from "./credential.ts";
export { type ConnectOptions, UnreachableError } from "./http.ts";
export { login } from "./login.ts";
export type { ChangedFile, PermissionAnswer, QuestionAnswer, RunOptions, RunResult } from "./run.ts";
export type { FollowOptions, PageOptions, Session } from "./session.ts";
export { UsageError } from "./usage.ts";
