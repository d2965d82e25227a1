/** Grok. It has notifications of its own: one counts each model call, another ends turns that nobody asked for. */
import { isNumber, isString, shapeOf, stringOf } from "../../../dialects/shape.ts";
import { defineAcpAgent } from "../define.ts";
import { type Extension, ignored } from "../quirks.ts";
import { openAiTrial } from "../trial.ts";
import { count } from "../usage.ts";

export const grok = defineAcpAgent({
  agent: "grok",
  name: "Grok",
  info: ({ _meta }) => shapeOf(_meta).grokShell === true,
  args: ["agent", "stdio"],
  binary: {
    name: "grok",
    versionArgs: ["--version"],
    install: { kind: "npm", package: "@xai-official/grok", version: "1.0.41", fallbacks: [] },
  },
  environment: { prefixes: ["XAI_", "GROK_"] },
  credentials: { variables: ["XAI_API_KEY"], files: [".grok/auth.json", ".grok/config.toml"] },
  folderFiles: [".grok"],
  can: { subagents: true, questions: true },
  trial: openAiTrial({
    calls: ({ file, last, added }) => [
      { name: "read_file", input: { target_file: file } },
      { name: "search_replace", input: { file_path: file, old_string: last, new_string: last + added } },
    ],
    side: [{ name: "title", systemContains: "session title", answer: "A title" }],
    env: { LAB_API_KEY: "dummy", GROK_TELEMETRY_ENABLED: "0", GROK_ERROR_REPORTING: "0" },
    settings: {
      folder: ".grok",
      file: "config.toml",
      content: (url) =>
        [
          "[models]",
          'default = "lab"',
          "[model.lab]",
          'name = "Lab"',
          'model = "scripted"',
          `base_url = "${url}/v1"`,
          'env_key = "LAB_API_KEY"',
          "context_window = 200000",
          "",
        ].join("\n"),
    },
  }),
  quirks: {
    toolName: ({ _meta }) => stringOf(shapeOf(shapeOf(_meta)["x.ai/tool"]).name),
    extension(method, params) {
      if (!method.startsWith("_x.ai/")) return null;
      return method.startsWith("_x.ai/session") ? meaningOf(shapeOf(shapeOf(params).update)) : ignored;
    },
  },
});

function meaningOf(update: Readonly<Record<string, unknown>>): readonly Extension[] {
  switch (update.sessionUpdate) {
    case "response_completed": {
      const usage = shapeOf(update.usage);
      const reasoning = count(usage.reasoning_tokens);
      const cache_read = count(usage.cache_read_input_tokens);
      const cache_write = count(usage.cache_creation_input_tokens);
      const input = Math.max(0, count(usage.input_tokens) - cache_read - cache_write);
      const output = Math.max(0, count(usage.output_tokens) - reasoning);
      return [{ type: "usage", tokens: { input, output, reasoning, cache_read, cache_write } }];
    }
    case "retry_state":
      return retryOf(update);
    case "turn_completed":
      return [{ type: "unasked.end" }];
    case "model_changed":
      return isString(update.model_id) ? [{ type: "model", model: update.model_id }] : ignored;
    case "subagent_spawned":
      return isString(update.child_session_id)
        ? [{ type: "subagent.begin", id: update.child_session_id, title: stringOf(update.description) ?? "" }]
        : ignored;
    case "subagent_finished":
      return isString(update.child_session_id)
        ? [{ type: "subagent.end", id: update.child_session_id, failed: update.status !== "completed" }]
        : ignored;
    default:
      return ignored;
  }
}

/** What has failed for good is said by the answer to the prompt. */
function retryOf({ type, attempt, message, delay_ms }: Readonly<Record<string, unknown>>): readonly Extension[] {
  if (type !== "retrying") return ignored;
  const text = stringOf(message) ?? "The provider is asked again.";
  const delayMs = isNumber(delay_ms) ? delay_ms : 0;
  return [{ type: "retry", attempt: isNumber(attempt) ? attempt : 1, delayMs, message: text }];
}
