/** How the doctor tries OpenCode: the trial's folder is its home, and its only provider is the scripted model. */
import type { Trial, TrialPlace, TrialSetup } from "../../core/trial.ts";

export const trial: Trial = {
  model: "openai",
  calls: ({ file, last, added }) => [
    { name: "read", input: { filePath: file } },
    { name: "edit", input: { filePath: file, oldString: last, newString: last + added } },
  ],
  // A title is asked for beside the conversation; that must not use up the script.
  side: [{ name: "title", systemContains: "title generator", answer: "A title" }],
  permissionMode: "default",
  setup: (place) => setup(place, { permission: { edit: "ask" } }),
};

export function setup({ folder, url }: TrialPlace, { permission }: { readonly permission: unknown }): TrialSetup {
  return {
    env: {
      HOME: folder,
      XDG_CONFIG_HOME: `${folder}/config`,
      XDG_DATA_HOME: `${folder}/data`,
      XDG_STATE_HOME: `${folder}/state`,
      XDG_CACHE_HOME: `${folder}/cache`,
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      OPENCODE_DISABLE_CLAUDE_CODE: "1",
      OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
    },
    folders: [`${folder}/config/opencode`],
    files: { [`${folder}/config/opencode/opencode.json`]: JSON.stringify(config({ url, permission })) },
  };
}

function config({ url, permission }: { readonly url: string; readonly permission: unknown }): unknown {
  const scripted = {
    name: "Scripted",
    reasoning: true,
    tool_call: true,
    limit: { context: 200_000, output: 8_192 },
    cost: { input: 1, output: 2 },
  };
  const lab = {
    npm: "@ai-sdk/openai-compatible",
    name: "Lab",
    options: { baseURL: `${url}/v1`, apiKey: "dummy" },
    models: { scripted },
  };
  return {
    autoupdate: false,
    share: "disabled",
    model: "lab/scripted",
    small_model: "lab/scripted",
    enabled_providers: ["lab"],
    provider: { lab },
    permission,
  };
}
