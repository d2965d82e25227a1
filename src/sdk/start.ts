/** Starts the daemon of a data folder in the background, with the `franca` that is installed. On Node only. */
import { daemonIn, enclosingSession } from "./data-folder.ts";
import { UsageError } from "./usage.ts";

const START_MS = 60_000;

export interface StartOptions {
  readonly data: string;
  /** `true`: the `franca` beside the program, else the one on the PATH. */
  readonly program: true | string;
}

/** Gives the daemon's address. */
export async function startDaemon({ data, program }: StartOptions): Promise<string> {
  const session = enclosingSession();
  if (session !== null) {
    throw new UsageError(`This program runs inside the agent session ${session}, which may not start a daemon.`);
  }
  const found = program === true ? findProgram() : program;
  const isScript = /\.[cm]?js$/.test(found);
  const [command, ...before] = isScript ? [process.execPath, found] : [found];
  const failure = await runProgram(command, [...before, "daemon", "start", "--data", data]);
  const daemon = daemonIn(data);
  if (daemon !== null) return daemon.url;
  throw new UsageError(`${found} did not start a daemon on ${data}: ${failure.trim() || "it gave no reason"}`);
}

/** The package `franca` that this program depends on, else `franca` on the PATH. Never of the current folder. */
function findProgram(): string {
  const { createRequire } = process.getBuiltinModule("node:module");
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { join, dirname, isAbsolute, delimiter } = process.getBuiltinModule("node:path");
  const [, main] = process.argv;
  try {
    if (main !== undefined)
      return join(dirname(createRequire(main).resolve("franca/package.json")), "bin", "franca.js");
  } catch {
    // It is not a dependency of this program.
  }
  const folders = (process.env.PATH ?? "").split(delimiter);
  const path = folders
    .filter((folder) => isAbsolute(folder) && !folder.endsWith("node_modules/.bin"))
    .map((folder) => join(folder, "franca"))
    .find((file) => existsSync(file));
  if (path !== undefined) return path;
  throw new UsageError(
    "There is no daemon, and no `franca` to start one: npm install franca, or pass the program's path as `start`.",
  );
}

/** What the program wrote to standard error. */
function runProgram(command: string, args: readonly string[]): Promise<string> {
  const { execFile } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve) => {
    execFile(command, [...args], { timeout: START_MS }, (error, _stdout, stderr) =>
      resolve(stderr || (error?.message ?? "")),
    );
  });
}
