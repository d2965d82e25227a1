/** The builtin agent runs inside the daemon: there is nothing to find, only what it cannot do to refuse. */
import { type Capabilities, noCapabilities } from "../../core/capabilities.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";

export const capabilities: Capabilities = {
  ...noCapabilities,
  permissions: true,
  questions: true,
  steer: true,
  resume: true,
  fork: true,
  rewind: true,
  compact: true,
  images: true,
  mcp: true,
  systemPrompt: true,
  deltas: true,
  todos: true,
  subagents: true,
  reasoning: true,
  permissionModes: ["default", "plan", "acceptEdits", "bypass"],
  set: ["model", "variant", "mode", "permission_mode"],
};

export const modes = [
  { id: "build", name: "Build", description: "Reads, writes and runs commands, as its permissions allow" },
  { id: "plan", name: "Plan", description: "Reads and plans; refuses to write files or run commands" },
];

export function launch(options: LaunchOptions): Launch {
  if (options.mode !== null && !modes.some(({ id }) => id === options.mode)) {
    const known = modes.map(({ id }) => id).join(", ");
    return {
      kind: "refused",
      code: "mode_not_supported",
      message: `The builtin agent has no mode "${options.mode}". It has: ${known}.`,
    };
  }
  return { kind: "in-process", agent: "builtin" };
}
