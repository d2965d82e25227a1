/** What OpenCode can do. */
import { type Capabilities, noCapabilities } from "../../core/capabilities.ts";

export const capabilities: Capabilities = {
  ...noCapabilities,
  permissions: true,
  questions: true,
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
  forkAt: true,
  permissionRules: true,
  asks: ["revert", "unrevert", "share", "unshare", "remove", "note"],
  extras: ["parts", "system", "format", "tools", "command", "subtask", "agent"],
  // Rules can be added to a session but not taken back, so its permission mode stays as it began.
  set: ["model", "variant", "mode"],
};
