/** pi, through pi-acp. It never asks for permission, and a refused request of the provider is an empty turn. */
import { defineAcpAgent } from "../define.ts";

export const pi = defineAcpAgent({
  agent: "pi",
  name: "pi",
  info: "pi-acp",
  args: [],
  env: { PI_SKIP_VERSION_CHECK: "1" },
  binary: {
    name: "pi-acp",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "pi-acp", version: "0.0.34", fallbacks: [] },
  },
  environment: { prefixes: ["PI_", "ANTHROPIC_", "OPENAI_"] },
  credentials: {
    variables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
    files: [".pi/agent/auth.json", ".pi/agent/models.json"],
  },
  folderFiles: [".pi"],
  can: { permissions: false, mcp: false, todos: false },
  resumeCommand: (id) => `pi --session ${id}`,
  quirks: {
    // transcripts/pi/retry-429: that it tries again is said as if by the model.
    ownWords({ text }) {
      const [, attempt, seconds] = /^Retrying \(attempt (\d+)\/\d+, waiting (\d+)s\)\.\.\.$/.exec(text) ?? [];
      if (attempt !== undefined) {
        return { type: "retry", attempt: Number(attempt), delayMs: Number(seconds) * 1000, message: text };
      }
      return text === "Retry finished, resuming." ? { type: "status", label: "Retry", detail: "finished" } : null;
    },
  },
});
