/** Prepares the program of a launch: writes files for its arguments, and starts it in the session's view. */
import type { StartInView } from "../../../core/in-process.ts";
import type { Launch } from "../../../core/launch.ts";
import { fullView } from "../file-view.ts";
import { writeArguments } from "../launch-files.ts";
import type { Opening } from "./contract.ts";

interface Run {
  readonly runId: string;
  /** Variables besides those of the launch. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Replaces `{port}` in arguments. */
  readonly port?: string;
}

interface Program extends StartInView {
  readonly environment: Readonly<Record<string, string>>;
  readonly runId: string;
}

export async function prepareProgram(
  { command, args, env }: Extract<Launch, { kind: "process" | "http" }>,
  { options: { directory }, environmentFor, view = fullView }: Opening,
  run: Run,
): Promise<Program> {
  const { runId, port } = run;
  const environment = environmentFor({ runId, launch: { ...env, ...run.environment } });
  const written = writeArguments(runId, args).map((argument) =>
    port === undefined ? argument : argument.replace("{port}", port),
  );
  const program = { command, args: written, directory, path: environment.PATH };
  return { ...(await view.start(program)), environment, runId };
}
