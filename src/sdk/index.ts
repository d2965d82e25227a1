/** Franca's client library. Runs in Node 20 and later, and in browsers. */
export { ApiError, type ErrorCode } from "../protocol/errors.ts";
export type * from "../protocol/events.ts";
export type * from "../protocol/items.ts";
export type * from "../protocol/resources.ts";
export {
  type Client,
  connect,
  type FollowAllOptions,
  type PlacedEvent,
  type StatusChange,
  statusAfter,
} from "./client.ts";
export { ImpostorError } from "./credential.ts";
export { type ConnectOptions, UnreachableError } from "./http.ts";
export type { FollowOptions, PageOptions, PromptOptions, Session } from "./session.ts";
