/** How the doctor tries Codex: a home of its own, with a provider that is the scripted model. */
import type { Trial, TrialPlace, TrialSetup } from "../../core/trial.ts";

export const trial: Trial = {
  model: "openai",
  calls: ({ last, added }) => [
    { name: "exec_command", input: { cmd: "cat README.md" } },
    {
      name: "apply_patch",
      input: `*** Begin Patch\n*** Update File: README.md\n@@\n ${last}+${added}*** End Patch\n`,
    },
  ],
  // Its sandbox is not available in every container.
  permissionMode: "bypass",
  setup: (place) => setup(place),
};

export interface CodexSetup {
  /** More of Codex's configuration, at its top. */
  readonly config?: string;
  /** More about the provider. */
  readonly provider?: string;
}

export function setup({ folder, url }: TrialPlace, { config = "", provider = "" }: CodexSetup = {}): TrialSetup {
  const home = `${folder}/home`;
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
  return {
    // Codex runs commands in login shells: nobody's profile may slow them down, or be left half read by a kill.
    env: { HOME: home, CODEX_HOME: home, SCRIPTED_KEY: "none", SHELL: "/bin/bash" },
    folders: [home],
    files: { [`${home}/config.toml`]: lines.join("\n") },
  };
}
