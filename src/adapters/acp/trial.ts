/** How the doctor tries an ACP agent: a home of its own, and the scripted model as its only provider. */
import type { Trial, TrialCall, TrialPlace, TrialTask } from "../../core/trial.ts";

export interface AcpTrial {
  readonly calls: (task: TrialTask) => readonly TrialCall[];
  readonly side?: Trial["side"];
  /** Its settings file below the home folder, and what is in it; null: variables are enough. */
  readonly settings: {
    readonly folder: string;
    readonly file: string;
    readonly content: (url: string) => string;
  } | null;
  readonly env?: Readonly<Record<string, string>> | ((place: TrialPlace) => Readonly<Record<string, string>>);
}

/** For agents that speak to an OpenAI-compatible provider. */
export const openAiTrial = ({ calls, side, settings, env = {} }: AcpTrial): Trial => ({
  model: "openai",
  calls,
  ...(side === undefined ? {} : { side }),
  permissionMode: "default",
  setup: ({ folder, url }: TrialPlace) => ({
    env: {
      HOME: `${folder}/home`,
      TMPDIR: `${folder}/tmp`,
      DISABLE_TELEMETRY: "1",
      OPENAI_API_KEY: "dummy",
      OPENAI_BASE_URL: `${url}/v1`,
      ...(typeof env === "function" ? env({ folder, url }) : env),
    },
    folders: [`${folder}/home/${settings?.folder ?? ""}`, `${folder}/tmp`],
    files: settings === null ? {} : { [`${folder}/home/${settings.folder}/${settings.file}`]: settings.content(url) },
  }),
});
