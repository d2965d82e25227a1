/** Nanocoder. Its own default mode accepts edits, so the mode is always set. */
import { defineAcpAgent } from "../define.ts";
import { openAiTrial } from "../trial.ts";

const provider = { name: "Scripted", models: ["scripted"], apiKey: "dummy" };

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
  trial: openAiTrial({
    calls: ({ last, added }) => [
      { name: "read_file", input: { path: "README.md" } },
      { name: "string_replace", input: { path: "README.md", old_str: last, new_str: last + added } },
    ],
    env: ({ folder }) => ({ NANOCODER_CONFIG_DIR: `${folder}/home/nanocoder`, NANOCODER_SKIP_UPDATE_CHECK: "1" }),
    settings: {
      folder: "nanocoder",
      file: "agents.config.json",
      content: (url) => JSON.stringify({ nanocoder: { providers: [{ ...provider, baseUrl: `${url}/v1` }] } }),
    },
  }),
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
