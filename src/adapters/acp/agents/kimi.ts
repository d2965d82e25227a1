/** Kimi Code. It writes a call's arguments as content, and runs commands in our terminal. */
import { defineAcpAgent } from "../define.ts";
import { openAiTrial } from "../trial.ts";

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
  trial: openAiTrial({
    calls: ({ file, last, added }) => [
      { name: "Read", input: { path: file } },
      { name: "Edit", input: { path: file, old_string: last, new_string: last + added } },
    ],
    settings: {
      folder: ".kimi-code",
      file: "config.toml",
      content: (url) =>
        [
          'default_model = "lab/scripted"',
          'default_permission_mode = "manual"',
          "telemetry = false",
          "[providers.lab]",
          'type = "openai"',
          `base_url = "${url}/v1"`,
          'api_key = "dummy"',
          '[models."lab/scripted"]',
          'provider = "lab"',
          'model = "scripted"',
          "max_context_size = 200000",
          "",
        ].join("\n"),
    },
  }),
  quirks: {
    modes: { default: "default", plan: "plan", bypass: "yolo" },
    content: "input",
    // transcripts/kimi/slash-command: the end of a compaction is said after the turn.
    ownWords: ({ text }) =>
      text.startsWith("Compaction completed.") ? { type: "status", label: "Context compacted", detail: text } : null,
  },
});
