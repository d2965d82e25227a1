/** OpenCode through its ACP command; never chosen by default, since Franca drives OpenCode itself. */
import { defineAcpAgent } from "../define.ts";

export const opencodeAcp = defineAcpAgent({
  agent: "opencode-acp",
  name: "OpenCode (ACP)",
  info: "OpenCode",
  args: ["acp"],
  env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
  binary: {
    name: "opencode",
    versionArgs: ["--version"],
    install: {
      kind: "npm",
      package: "opencode-ai",
      version: "1.18.33",
      fallbacks: ["opencode-{platform}-{arch}/bin/opencode"],
    },
  },
  environment: { prefixes: ["OPENCODE_", "ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_"] },
  credentials: { variables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"], files: [".local/share/opencode/auth.json"] },
  folderFiles: [".opencode", "opencode.json", "opencode.jsonc"],
  can: { fork: true, cost: true },
  quirks: {
    modes: { default: "build", plan: "plan" },
    content: "output",
    // transcripts/opencode-acp/prompt-while-busy.
    mergesPrompts: true,
  },
});
