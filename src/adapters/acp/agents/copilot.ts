/** GitHub Copilot CLI. Failures are text with a prefix, exit codes are said in words, and refused calls stay open. */
import { lookUp } from "../../../core/look-up.ts";
import { isString, shapeOf } from "../../../dialects/shape.ts";
import { defineAcpAgent } from "../define.ts";
import type { Chunk, OwnWords } from "../quirks.ts";
import { openAiTrial } from "../trial.ts";

const MODES = "https://agentclientprotocol.com/protocol/session-modes";

const toolNames: Readonly<Record<string, string>> = { execute: "bash", read: "view", edit: "edit", search: "search" };

export const copilot = defineAcpAgent({
  agent: "copilot",
  name: "GitHub Copilot CLI",
  info: "Copilot",
  args: ["--acp"],
  env: { COPILOT_AUTO_UPDATE: "false" },
  binary: {
    name: "copilot",
    versionArgs: ["--version"],
    install: {
      kind: "npm",
      package: "@github/copilot",
      version: "1.0.102",
      fallbacks: ["@github/copilot-{platform}-{arch}/copilot"],
    },
  },
  environment: { prefixes: ["COPILOT_"], names: ["GH_TOKEN", "GITHUB_TOKEN"] },
  credentials: {
    variables: ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"],
    files: [".copilot/config.json"],
  },
  folderFiles: [".copilot", ".github/copilot", ".mcp.json"],
  can: { subagents: true },
  trial: openAiTrial({
    calls: ({ file, last, added }) => [
      { name: "view", input: { path: file } },
      { name: "edit", input: { path: file, old_str: last, new_str: last + added } },
    ],
    // With a provider of its own it needs no login.
    env: ({ url }) => ({
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: "dummy",
      COPILOT_MODEL: "gpt-4.1",
    }),
    settings: null,
  }),
  resumeCommand: (id) => `copilot --resume ${id}`,
  quirks: {
    modes: { default: `${MODES}#agent`, plan: `${MODES}#plan` },
    content: "output",
    usage: { includesCache: true },
    toolName: ({ kind, rawInput }) =>
      isString(shapeOf(rawInput).agent_type) ? "task" : isString(kind) ? lookUp(toolNames, kind) : undefined,
    subagentOf(meta) {
      const { agentId } = shapeOf(shapeOf(meta)["github.com/copilot"]);
      return isString(agentId) ? { id: agentId } : null;
    },
    ownWords,
  },
});

// transcripts/copilot/error-500, copilot/permission-cancelled.
function ownWords({ text, first }: Chunk): OwnWords | null {
  if (/^Info: Request failed .*Retrying\.\.\.$/.test(text)) {
    return { type: "retry", attempt: 1, delayMs: 0, message: text.slice("Info: ".length) };
  }
  if (/^Info: \w/.test(text) && (first || text === "Info: Operation cancelled by user")) {
    return { type: "status", label: "Info", detail: text.slice("Info: ".length) };
  }
  const isError = /^Error: (\d{3} |Failed to get response)/.test(text) || (first && text.startsWith("Error: "));
  return isError ? { type: "error", message: text.slice("Error: ".length) } : null;
}
