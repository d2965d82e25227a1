/** Nanocoder. Its own default mode accepts edits, so the mode is always set. */
import { defineAcpAgent } from "../define.ts";

export const nanocoder = defineAcpAgent({
  agent: "nanocoder",
  name: "Nanocoder",
  info: "nanocoder",
  args: ["--acp"],
  binary: {
    name: "nanocoder",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@nanocollective/nanocoder", version: "1.30.0", fallbacks: [] },
  },
  environment: { prefixes: ["NANOCODER_"] },
  credentials: { variables: [], files: [".config/nanocoder/agents.config.json"] },
  folderFiles: ["agents.config.json", ".nanocoder", ".mcp.json"],
  can: { questions: true, images: false },
  quirks: {
    modes: { default: "normal", plan: "plan", acceptEdits: "auto-accept", bypass: "yolo" },
    usage: { includesCache: true },
    // transcripts/nanocoder/error-400: the reason comes as text, and then as an error.
    ownWords({ text }) {
      const [, message] = /^\s*\*\*Error:\*\* ([\s\S]+)$/.exec(text) ?? [];
      return message === undefined ? null : { type: "error", message: message.trim() };
    },
  },
});
