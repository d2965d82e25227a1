/** How the doctor tries Claude Code: nothing of the developer's own, nothing to the outside. */
import type { Trial, TrialPlace, TrialSetup } from "../../core/trial.ts";

export const trial: Trial = {
  model: "anthropic",
  calls: ({ file, last, added }) => [
    { name: "Read", input: { file_path: file } },
    { name: "Edit", input: { file_path: file, old_string: last, new_string: last + added } },
  ],
  permissionMode: "default",
  setup,
};

export function setup({ folder, url }: TrialPlace): TrialSetup {
  const [home, temporary] = [`${folder}/home`, `${folder}/tmp`];
  return {
    env: {
      HOME: home,
      TMPDIR: temporary,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
    },
    folders: [home, temporary],
  };
}
