/** The names of the agents that Franca knows. Others may be added by a newer daemon, so any text is accepted. */

export const agentNames = ["amp", "builtin", "claude", "codex", "mock", "opencode"] as const;

export type KnownAgent = (typeof agentNames)[number];

// Editors complete the known names although any text is taken.
export type AgentName = KnownAgent | (string & Record<never, never>);
