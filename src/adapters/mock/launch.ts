/** The mock runs inside this process: there is nothing to find, install or log in to. */
import { type Capabilities, noCapabilities } from "../../core/capabilities.ts";
import type { Launch } from "../../core/launch.ts";
import type { Trial } from "../../core/trial.ts";

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
  rewind: true,
  permissionModes: ["default", "plan", "acceptEdits", "bypass"],
  set: ["model", "mode", "permission_mode"],
};

/** It has no model: its scenario only says that it reads and edits. */
export const trial: Trial = {
  model: "anthropic",
  calls: () => [],
  permissionMode: "default",
  setup: () => ({ env: {} }),
  pretence: "tool",
};
