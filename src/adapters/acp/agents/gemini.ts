/** Gemini CLI. Its tools that need permission first appear in the request, and give no output when they succeed. */
import { shapeOf } from "../../../dialects/shape.ts";
import { defineAcpAgent } from "../define.ts";
import { count } from "../usage.ts";

const settings = {
  security: { auth: { selectedType: "gemini-api-key" } },
  telemetry: { enabled: false },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, maxAttempts: 2 },
};

export const gemini = defineAcpAgent({
  agent: "gemini",
  name: "Gemini CLI",
  info: "gemini-cli",
  args: ({ model }) => ["--acp", "--skip-trust", ...(model === null ? [] : ["-m", model])],
  env: { GEMINI_CLI_NO_RELAUNCH: "true" },
  can: { ownSandbox: true },
  binary: {
    name: "gemini",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@google/gemini-cli", version: "0.61.0", fallbacks: [] },
  },
  environment: { prefixes: ["GEMINI_", "GOOGLE_"] },
  credentials: { variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"], files: [".gemini/oauth_creds.json"] },
  folderFiles: [".gemini"],
  trial: {
    model: "gemini",
    calls: ({ file, last, added }) => [
      { name: "read_file", input: { file_path: file } },
      {
        name: "replace",
        input: { file_path: file, instruction: "Add a line", old_string: last, new_string: last + added },
      },
    ],
    permissionMode: "default",
    setup: ({ folder, url }) => ({
      env: {
        HOME: `${folder}/home`,
        TMPDIR: `${folder}/tmp`,
        GEMINI_API_KEY: "dummy",
        GEMINI_MODEL: "gemini-2.5-pro",
        GOOGLE_GEMINI_BASE_URL: url,
      },
      folders: [`${folder}/home/.gemini`, `${folder}/tmp`],
      files: { [`${folder}/home/.gemini/settings.json`]: JSON.stringify(settings) },
    }),
  },
  resumeCommand: (id) => `gemini --resume ${id}`,
  quirks: {
    modes: { default: "default", plan: "plan", acceptEdits: "autoEdit", bypass: "yolo" },
    // transcripts/gemini/read-edit: `read_file__call_read`.
    toolName: ({ toolCallId }) => /^(\w+?)__/.exec(toolCallId)?.[1],
    // transcripts/gemini/mode-model: a change of mode is said as if by the model.
    ownWords({ text }) {
      const mode = /^\[MODE_UPDATE\] (\S+)$/.exec(text)?.[1];
      return mode === undefined ? null : { type: "mode", mode };
    },
    // The cache is part of the input. Cache and thoughts are counted in its session files only.
    tokensIn(meta) {
      const counts = shapeOf(shapeOf(shapeOf(meta).quota).token_count);
      if (counts.input_tokens === undefined) return null;
      const [input, output] = [count(counts.input_tokens), count(counts.output_tokens)];
      const [cache_read, reasoning] = [count(counts.cached_tokens), count(counts.thought_tokens)];
      return { input: Math.max(0, input - cache_read), output, reasoning, cache_read, cache_write: 0 };
    },
  },
});
