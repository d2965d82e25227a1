/**
 * How each agent is tried without its owner's settings, logins or network: a scripted model on loopback, a home of its
 * own, and a script that reads README.md and adds a line. The tests with real binaries use the same environments.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BuiltinSettings } from "../builtin/index.ts";
import { serveAnthropic } from "../model-server/anthropic.ts";
import { serveOpenAi } from "../model-server/openai.ts";
import type { Script, ScriptBlock, ScriptTurn } from "../model-server/script.ts";
import type { ModelServer } from "../model-server/serve.ts";
import type { PermissionMode } from "../protocol/events.ts";

/** What the README says before, and the line that is to be added. */
export const README = "# Demo\n\nA small demo project.\n";
export const ADDED = "One more line.\n";

export interface Bench {
  /** The model does what its script says, whatever the words are. */
  readonly prompt: string;
  readonly model: (script: Script) => Promise<ModelServer>;
  /** Given the path of the README. */
  readonly script: (file: string) => Script;
  /** Whether the file is really changed. */
  readonly changes: boolean;
  readonly permissionMode: PermissionMode;
  /** Writes what the agent reads at its start, and says what its environment must be. */
  readonly prepare: (place: Place) => Record<string, string>;
  readonly builtin?: (url: string) => BuiltinSettings;
}

export interface Place {
  /** A folder for this bench alone. */
  readonly folder: string;
  /** The model server's address. */
  readonly url: string;
}

const PROMPT = "Read README.md and add a line at the end.";

const call = (name: string, input: unknown): ScriptTurn => ({
  type: "answer",
  blocks: [{ type: "tool_call", name, input, chunks: 2 }],
});
const words: ScriptBlock = { type: "text", text: "Done: README.md has one more line.", chunks: 3 };
const done: ScriptTurn = { type: "answer", blocks: [{ type: "thinking", text: "That was all.", chunks: 2 }, words] };

const claude: Bench = {
  prompt: PROMPT,
  model: serveAnthropic,
  script: (file) => ({
    turns: [
      call("Read", { file_path: file }),
      call("Edit", { file_path: file, old_string: "project.\n", new_string: `project.\n${ADDED}` }),
      done,
    ],
  }),
  changes: true,
  permissionMode: "default",
  prepare: claudeEnvironment,
};

/** Nothing of the developer's own, nothing to the outside. */
export function claudeEnvironment({ folder, url }: Place): Record<string, string> {
  const [home, temporary] = [join(folder, "home"), join(folder, "tmp")];
  for (const path of [home, temporary]) mkdirSync(path, { recursive: true });
  return {
    HOME: home,
    TMPDIR: temporary,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "dummy",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
}

const codex: Bench = {
  prompt: PROMPT,
  model: serveOpenAi,
  script: () => ({
    turns: [
      call("exec_command", { cmd: "cat README.md" }),
      call(
        "apply_patch",
        `*** Begin Patch\n*** Update File: README.md\n@@\n A small demo project.\n+${ADDED}*** End Patch\n`,
      ),
      done,
    ],
  }),
  changes: true,
  // Its sandbox is not to be had in every container.
  permissionMode: "bypass",
  prepare: (place) => codexEnvironment(place),
};

export interface CodexSetup {
  /** More of Codex's configuration, at its top. */
  readonly config?: string;
  /** More about the provider. */
  readonly provider?: string;
}

export function codexEnvironment(
  { folder, url }: Place,
  { config = "", provider = "" }: CodexSetup = {},
): Record<string, string> {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  const lines = [
    'model = "gpt-5.5"',
    'model_provider = "scripted"',
    config,
    "[model_providers.scripted]",
    'name = "scripted"',
    `base_url = "${url}/v1"`,
    'wire_api = "responses"',
    'env_key = "SCRIPTED_KEY"',
    provider,
    "",
  ];
  writeFileSync(join(home, "config.toml"), lines.join("\n"));
  // Codex runs commands in login shells: nobody's profile may slow them down, or be left half read when one is killed.
  return { HOME: home, CODEX_HOME: home, SCRIPTED_KEY: "none", SHELL: "/bin/bash" };
}

const title: ScriptTurn = { type: "answer", blocks: [{ type: "text", text: "A title" }] };

/** OpenCode asks for a title beside the conversation; that must not use up the script. */
export const opencodeScript = (turns: readonly ScriptTurn[]): Script => ({
  turns,
  side: [{ name: "title", match: { systemContains: "title generator" }, turns: [title] }],
});

/** OpenCode and our own agent have tools of the same names. */
const readAndEdit = (file: string): readonly ScriptTurn[] => [
  call("read", { filePath: file }),
  call("edit", { filePath: file, oldString: "project.\n", newString: `project.\n${ADDED}` }),
  done,
];

const opencode: Bench = {
  prompt: PROMPT,
  model: serveOpenAi,
  script: (file) => opencodeScript(readAndEdit(file)),
  changes: true,
  permissionMode: "default",
  prepare: (place) => opencodeEnvironment(place, { permission: { edit: "ask" } }),
};

/** `folder` becomes its home. */
export function opencodeEnvironment(
  { folder, url }: Place,
  { permission }: { permission: unknown },
): Record<string, string> {
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
  const config = {
    autoupdate: false,
    share: "disabled",
    model: "lab/scripted",
    small_model: "lab/scripted",
    enabled_providers: ["lab"],
    provider: { lab },
    permission,
  };
  const configFolder = join(folder, "config", "opencode");
  mkdirSync(configFolder, { recursive: true });
  writeFileSync(join(configFolder, "opencode.json"), JSON.stringify(config));
  return {
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_DATA_HOME: join(folder, "data"),
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CACHE_HOME: join(folder, "cache"),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
    OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
  };
}

const builtin: Bench = {
  prompt: PROMPT,
  model: serveAnthropic,
  script: (file) => ({ turns: readAndEdit(file) }),
  changes: true,
  permissionMode: "default",
  prepare: () => ({}),
  builtin: (url) => ({
    model: "scripted/model",
    provider: { scripted: { kind: "anthropic", baseURL: url, apiKey: "dummy" } },
  }),
};

const mock: Bench = {
  // It only tells that it reads and edits.
  prompt: "tool",
  model: serveAnthropic,
  script: () => ({ turns: [done] }),
  changes: false,
  permissionMode: "default",
  prepare: () => ({}),
};

/** Agents that are not here speak to servers of their own alone, and are only looked at. */
export const benches: Readonly<Record<string, Bench>> = { claude, codex, opencode, builtin, mock };
