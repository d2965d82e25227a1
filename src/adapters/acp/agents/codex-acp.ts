/** Codex through its ACP adapter; never chosen by default, since Franca drives Codex itself. */
import { defineAcpAgent } from "../define.ts";
import type { Chunk, OwnWords } from "../quirks.ts";

export const codexAcp = defineAcpAgent({
  agent: "codex-acp",
  name: "Codex (ACP)",
  info: "@agentclientprotocol/codex-acp",
  args: [],
  env: { NO_BROWSER: "1" },
  binary: {
    name: "codex-acp",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@agentclientprotocol/codex-acp", version: "2.6.0", fallbacks: [] },
  },
  environment: { prefixes: ["OPENAI_", "CODEX_"] },
  credentials: { variables: ["OPENAI_API_KEY", "CODEX_API_KEY"], files: [".codex/auth.json"] },
  folderFiles: [".codex"],
  can: { ownSandbox: true, questions: true, fork: true, subagents: true },
  quirks: {
    modes: { plan: "read-only", bypass: "agent-full-access" },
    toolName: ({ name, kind }) => name ?? (kind === "edit" ? "apply_patch" : undefined),
    // transcripts/codex-acp/background-command, codex-acp/cancel-permission.
    commandsOutlive: true,
    ownWords,
  },
});

// transcripts/codex-acp/error-400: what the model says has an id, what Codex says has none.
function ownWords({ text, messageId, alarmed }: Chunk): OwnWords | null {
  const [, warning] = /^(?:Config w|W)arning: ([\s\S]+)$/.exec(text) ?? [];
  if (warning !== undefined) return { type: "status", label: "Warning", detail: warning.trim() };
  const isError = alarmed && (messageId === null || text.startsWith('{"error":{'));
  return isError ? { type: "error", message: text.trim() } : null;
}
