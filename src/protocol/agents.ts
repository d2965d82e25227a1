/** The names of the agents that Franca knows. Others may be added by a newer daemon, so any text is accepted. */

export const agentNames = [
  "acp",
  "amp",
  "builtin",
  "claude",
  "claude-acp",
  "codex",
  "codex-acp",
  "copilot",
  "gemini",
  "grok",
  "kimi",
  "mock",
  "nanocoder",
  "opencode",
  "opencode-acp",
  "pi",
  "qwen",
] as const;

export type KnownAgent = (typeof agentNames)[number];

// Editors complete the known names although any text is taken.
export type AgentName = KnownAgent | (string & Record<never, never>);
