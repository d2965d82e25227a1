/** The mock runs inside this process: there is nothing to find, install or log in to. */
import { type Capabilities, noCapabilities } from "../../core/capabilities.ts";
import type { Launch } from "../../core/launch.ts";

export const launch = (): Launch => ({ kind: "in-process", agent: "mock" });

export const capabilities: Capabilities = {
  ...noCapabilities,
  permissions: true,
  questions: true,
  steer: true,
  resume: true,
  fork: true,
  compact: true,
  images: true,
  deltas: true,
  todos: true,
  subagents: true,
  reasoning: true,
  cost: true,
  permissionModes: ["default", "plan", "acceptEdits", "bypass"],
  set: ["model", "mode", "permission_mode"],
};
