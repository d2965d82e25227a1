/**
 * Our own agent, as the daemon sees it: how to make it, what its configuration may say, and what it can be asked for.
 */
export { type BuiltinOptions, createBuiltinAgent } from "./agent.ts";
export {
  BuiltinConfig,
  type BuiltinFlags,
  type BuiltinSettings,
  readBuiltinConfig,
  withFlags,
} from "./config.ts";
export { historyFrom } from "./log-reader.ts";
export { removeOutputs } from "./outputs.ts";

export type { Hooks } from "./session-context.ts";
