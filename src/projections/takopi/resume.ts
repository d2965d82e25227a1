/** The command that opens a conversation again in a terminal, as the agent's own users would type it. */

const commands: Readonly<Record<string, (value: string) => string>> = {
  claude: (value) => `claude --resume ${value}`,
  codex: (value) => `codex resume ${value}`,
  "codex-exec": (value) => `codex resume ${value}`,
  opencode: (value) => `opencode --session ${value}`,
  "opencode-run": (value) => `opencode --session ${value}`,
  amp: (value) => `amp threads continue ${value}`,
};

export function resumeLine({ agent, value }: { agent: string; value: string }): string {
  return commands[agent]?.(value) ?? `franca attach ${value}`;
}
