/** The daemon as a library: what `franca serve` starts, for programs that want it inside themselves. */
export { ApiError } from "../protocol/errors.ts";
export { eventsOf } from "../runtime/log/codec/group.ts";
export type { EventGroup, Sessions } from "../runtime/session/contract.ts";
export { type Daemon, type DaemonOptions, openDaemon, openRuntime, type RuntimeSettings } from "./compose.ts";
