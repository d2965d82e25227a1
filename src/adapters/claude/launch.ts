/** How Claude Code is started: one process per session, stream-json both ways, permissions asked on stdio. */
import type { Binary } from "../../core/binary.ts";
import { type Capabilities, type ModelSource, noCapabilities } from "../../core/capabilities.ts";
import type { Launch, LaunchOptions, McpServer } from "../../core/launch.ts";
import type { PermissionMode } from "../../protocol/events.ts";
import { ROOT_REFUSED } from "./end.ts";

export const capabilities: Capabilities = {
  ...noCapabilities,
  ownSandbox: true,
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
  cost: true,
  permissionModes: ["default", "plan", "acceptEdits", "bypass"],
  set: ["model", "permission_mode"],
};

export const binary: Binary = {
  name: "claude",
  versionArgs: ["--version"],
  install: {
    kind: "npm",
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    fallbacks: [
      "@anthropic-ai/claude-code-{platform}-{arch}/claude",
      "@anthropic-ai/claude-code-{platform}-{arch}-musl/claude",
    ],
  },
};

/** As Claude Code 2.1.325 reports them of the models behind its aliases; of Haiku only the window is known. */
const limits = {
  opus: { context: 1_000_000, output: 128_000 },
  sonnet: { context: 200_000, output: 32_000 },
  haiku: { context: 200_000 },
};

/** Aliases of the newest model of each family; whole names of models are taken too. */
export const models: ModelSource = {
  kind: "list",
  models: [
    { id: "opus", name: "Opus", limit: limits.opus },
    { id: "sonnet", name: "Sonnet", limit: limits.sonnet },
    { id: "haiku", name: "Haiku", limit: limits.haiku },
  ],
};

/**
 * Our word for a permission mode in the CLI's. In its own `acceptEdits` it would ask about no edit, files that run code
 * included: it stays in `default`, and the turn machine answers for edits.
 */
const nativeModes = {
  default: "default",
  acceptEdits: "default",
  plan: "plan",
  bypass: "bypassPermissions",
} as const satisfies Record<PermissionMode, string>;

export const nativeMode = (mode: PermissionMode): string => nativeModes[mode];

const environment = {
  // A start that is refused is a result on stdout, not on stderr alone.
  CLAUDE_CODE_STARTUP_FAILURE_RESULTS: "1",
  // What a subagent says in the foreground; versions that do not know it ignore it.
  CLAUDE_CODE_FORWARD_SUBAGENT_TEXT: "1",
  DISABLE_AUTOUPDATER: "1",
};

export function launch(options: LaunchOptions): Launch {
  const { permission_mode, asRoot, resume, resume_at, fork, model, variant, system_prompt } = options;
  // In a sandbox Claude Code lets root do what it refuses to root elsewhere.
  const isSandbox = (options.env.IS_SANDBOX ?? options.inherited.IS_SANDBOX) === "1";
  if (permission_mode === "bypass" && asRoot && !isSandbox) {
    return { kind: "refused", code: "mode_not_supported", message: ROOT_REFUSED };
  }
  const mcp = mcpConfig(options.mcp);
  const isRestricted = options.folder?.trusted === false;
  return {
    kind: "process",
    command: options.binary ?? binary.name,
    args: [
      "-p",
      "--input-format",
      "stream-json",
      "--output-format",
      "stream-json",
      "--verbose",
      "--include-partial-messages",
      "--permission-prompt-tool",
      "stdio",
      "--permission-mode",
      nativeMode(permission_mode),
      ...(resume === null ? [] : ["--resume", resume, ...(fork ? ["--fork-session"] : [])]),
      ...(resume === null || resume_at === undefined ? [] : ["--resume-session-at", resume_at]),
      ...(model === null ? [] : ["--model", model]),
      ...(variant === null ? [] : ["--effort", variant]),
      ...(system_prompt === null
        ? []
        : ["--append-system-prompt-file", { file: "system-prompt.txt", content: system_prompt }]),
      ...(mcp === null ? [] : ["--mcp-config", { file: "mcp.json", content: mcp }]),
      // Without the folder's settings, hooks, MCP servers, commands and plugins; the user's own stay.
      ...(isRestricted ? ["--setting-sources", "user"] : []),
    ],
    env: { ...environment, ...options.folder?.gitEnvironment },
    lifetime: "session",
  };
}

function mcpConfig(servers: Readonly<Record<string, McpServer>>): string | null {
  const entries = Object.entries(servers);
  if (entries.length === 0) return null;
  const mcpServers = Object.fromEntries(
    entries.map(([name, { command, args, env, url, headers }]) => [
      name,
      command === undefined ? { type: "http", url, headers } : { command, args: args ?? [], env },
    ]),
  );
  return JSON.stringify({ mcpServers });
}
