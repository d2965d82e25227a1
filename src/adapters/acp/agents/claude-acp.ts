/** Claude Code through its ACP adapter; never chosen by default, since Franca drives Claude Code itself. */
import { isString, shapeOf, stringOf } from "../../../dialects/shape.ts";
import { defineAcpAgent } from "../define.ts";

export const claudeAcp = defineAcpAgent({
  agent: "claude-acp",
  name: "Claude Code (ACP)",
  info: "@agentclientprotocol/claude-agent-acp",
  args: [],
  binary: {
    name: "claude-agent-acp",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@agentclientprotocol/claude-agent-acp", version: "0.99.1", fallbacks: [] },
  },
  environment: { prefixes: ["ANTHROPIC_", "CLAUDE_"], names: ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"] },
  credentials: { variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"], files: [".claude/.credentials.json"] },
  folderFiles: [".claude", ".mcp.json"],
  can: { ownSandbox: true, questions: true, fork: true, subagents: true, cost: true },
  quirks: {
    modes: { default: "default", plan: "plan", acceptEdits: "acceptEdits" },
    content: "input",
    toolName: ({ _meta }) => stringOf(shapeOf(shapeOf(_meta).claudeCode).toolName),
    // transcripts/claude-acp/error-400: the CLI's own words, with an id of another kind.
    ownWords: ({ text, first, messageId }) =>
      first && messageId?.startsWith("msg_") !== true && /^(API Error|Invalid API key|Credit balance)/.test(text)
        ? { type: "error", message: text }
        : null,
    // transcripts/claude-acp/background-command.
    endsUnasked: (meta) => shapeOf(shapeOf(meta)["_claude/origin"]).kind === "task-notification",
    subagentOf(meta) {
      const { parentToolUseId } = shapeOf(shapeOf(meta).claudeCode);
      return isString(parentToolUseId) ? { id: parentToolUseId } : null;
    },
  },
});
