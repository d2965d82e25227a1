/** The daemon as a library: what `franca serve` starts, for programs that want it inside themselves. */
export { ApiError } from "../protocol/errors.ts";
export type { EventGroup } from "../runtime/log/contract.ts";
export type { Sessions } from "../runtime/session/contract.ts";
export { type Daemon, type DaemonOptions, openDaemon, openRuntime, type RuntimeSettings } from "./compose.ts";
