/** Kimi Code. It writes a call's arguments as content, and runs commands in our terminal. */
import { defineAcpAgent } from "../define.ts";

export const kimi = defineAcpAgent({
  agent: "kimi",
  name: "Kimi Code",
  info: "Kimi Code CLI",
  args: ["acp"],
  env: { KIMI_CODE_NO_AUTO_UPDATE: "1" },
  binary: {
    name: "kimi",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@moonshot-ai/kimi-code", version: "2.1.0", fallbacks: [] },
  },
  environment: { prefixes: ["KIMI_", "MOONSHOT_"] },
  credentials: { variables: ["KIMI_API_KEY", "MOONSHOT_API_KEY"], files: [".kimi-code/config.toml"] },
  folderFiles: [".kimi-code", ".kimi"],
  can: { questions: true, fork: true },
  quirks: {
    modes: { default: "default", plan: "plan", bypass: "yolo" },
    content: "input",
    // transcripts/kimi/slash-command: the end of a compaction is said after the turn.
    ownWords: ({ text }) =>
      text.startsWith("Compaction completed.") ? { type: "status", label: "Context compacted", detail: text } : null,
  },
});
