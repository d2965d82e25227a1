/** Qwen Code. It counts each model call, and works by itself when something in the background has ended. */
import { shapeOf, stringOf } from "../../../dialects/shape.ts";
import { defineAcpAgent } from "../define.ts";
import { ignored } from "../quirks.ts";
import { openAiTrial } from "../trial.ts";
import { tokensOf } from "../usage.ts";

export const qwen = defineAcpAgent({
  agent: "qwen",
  name: "Qwen Code",
  info: "qwen-code",
  args: ({ model }) => ["--acp", ...(model === null ? [] : ["-m", model])],
  binary: {
    name: "qwen",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@qwen-code/qwen-code", version: "0.24.4", fallbacks: [] },
  },
  environment: { prefixes: ["QWEN_", "DASHSCOPE_", "OPENAI_"] },
  credentials: { variables: ["OPENAI_API_KEY", "DASHSCOPE_API_KEY"], files: [".qwen/oauth_creds.json"] },
  folderFiles: [".qwen"],
  can: { ownSandbox: true, questions: true },
  resumeCommand: (id) => `qwen --resume ${id}`,
  trial: openAiTrial({
    calls: ({ file, last, added }) => [
      { name: "read_file", input: { file_path: file } },
      { name: "edit", input: { file_path: file, old_string: last, new_string: last + added } },
    ],
    env: { OPENAI_MODEL: "scripted" },
    settings: {
      folder: ".qwen",
      file: "settings.json",
      content: () =>
        JSON.stringify({
          security: { auth: { selectedType: "openai" } },
          telemetry: { enabled: false },
          privacy: { usageStatisticsEnabled: false },
          general: { enableAutoUpdate: false },
        }),
    },
  }),
  quirks: {
    modes: { default: "default", plan: "plan", acceptEdits: "auto-edit", bypass: "yolo" },
    toolName: ({ _meta }) => stringOf(shapeOf(_meta).toolName),
    tokensIn(meta) {
      const { usage } = shapeOf(meta);
      return usage === undefined ? null : tokensOf(shapeOf(usage), { includesCache: true });
    },
    // transcripts/qwen/background-command: its notes about tasks come as text, the model's answer to them too.
    ownWords({ text, meta }) {
      const { source } = shapeOf(meta);
      if (source !== "background_task_completed" && source !== "background_notification") return null;
      return { type: "status", label: "Background task", detail: text };
    },
    extension(method) {
      if (method === "_qwencode/start_turn") return [{ type: "unasked.begin" }];
      if (method === "_qwencode/end_turn") return [{ type: "unasked.end" }];
      // A guess at the next prompt; and whether the client has queued words for the model, which ours never does.
      return /^(_?qwen|craft)\//.test(method) ? ignored : null;
    },
  },
});
