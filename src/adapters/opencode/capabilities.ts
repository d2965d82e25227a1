/** What OpenCode can do. */
import type { Capabilities } from "../../core/adapter.ts";

export const capabilities: Capabilities = {
  permissions: true,
  questions: true,
  steer: false,
  resume: true,
  fork: true,
  compact: true,
  shell: true,
  images: true,
  mcp: true,
  systemPrompt: true,
  deltas: true,
  todos: true,
  subagents: true,
  reasoning: true,
  cost: true,
  echoesPrompts: true,
  permissionModes: ["default", "plan", "acceptEdits", "bypass"],
  set: ["model", "variant", "mode", "permission_mode"],
};
