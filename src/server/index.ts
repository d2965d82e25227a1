/** The daemon as a library: what `franca serve` starts, for programs that want it inside themselves. */
export { ApiError } from "../protocol/errors.ts";
export type { EventGroup, Sessions } from "../runtime/contract.ts";
export { eventsOf } from "../runtime/log/group.ts";
export { type Daemon, type DaemonOptions, openDaemon, openRuntime, type RuntimeSettings } from "./compose.ts";
