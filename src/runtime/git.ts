/**
 * git without the programs that a repository's configuration names: filters, diff commands, hooks, the file monitor,
 * pagers, editors, transports. Their names are the repository's choice, so they are listed first, which runs nothing.
 * Values go through the environment: on the command line a name with `=` in it would be split.
 */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { programPath } from "./program-path.ts";

const run = promisify(execFile);
const GIT_MS = 3_000;
const MAX_OUTPUT = 4 * 1024 * 1024;
/** More drivers than any honest repository has. With more, git does not work there at all. */
const MAX_DRIVERS = 500;
const NO_REPOSITORY = { GIT_DIR: "/dev/null" };
/** For commands that write a working tree. */
const LONG_GIT_MS = 60_000;
const MAX_LONG_OUTPUT = 32 * 1024 * 1024;

const DRIVERS = "^(filter\\..*\\.(clean|smudge|process|required)|diff\\..*\\.(command|textconv)|diff\\.external)$";

/** What is off by its own name. */
const fixed: readonly (readonly [string, string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["core.sshCommand", "false"],
  ["log.showSignature", "false"],
  ["safe.bareRepository", "explicit"],
  ["submodule.recurse", "false"],
];

const variables = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_PAGER: "cat",
  GIT_EDITOR: "true",
  GIT_ASKPASS: "true",
  GIT_SSH_COMMAND: "false",
};

/** For a process that calls git itself: blanks every driver that the repository's configuration names. */
export function gitEnvironment(directory: string): Readonly<Record<string, string>> {
  const listed = spawnSync("git", ["config", "-z", "--name-only", "--get-regexp", DRIVERS], {
    cwd: directory,
    timeout: GIT_MS,
    maxBuffer: MAX_OUTPUT,
    env: { PATH: programPath(process.env.PATH), ...variables },
    encoding: "utf8",
  });
  const drivers = [...new Set((listed.stdout ?? "").split("\0").filter((name) => name !== ""))];
  if (listed.error !== undefined || drivers.length > MAX_DRIVERS) return NO_REPOSITORY;
  const blank = drivers.map((name) => [name, name.endsWith(".required") ? "false" : ""] as const);
  const settings = [...fixed, ...blank];
  return {
    ...Object.fromEntries(
      settings.flatMap(([name, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, name],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
    GIT_CONFIG_COUNT: String(settings.length),
  };
}

/** The lines that git prints; none where it fails. Only for trusted folders: the caller checks. */
export async function git(directory: string, args: readonly string[]): Promise<string[]> {
  const env = { PATH: programPath(process.env.PATH), ...variables, ...gitEnvironment(directory) };
  const options = { cwd: directory, timeout: GIT_MS, maxBuffer: MAX_OUTPUT, env };
  const result = await run("git", ["--no-optional-locks", ...args], options).catch(() => null);
  return (result?.stdout ?? "").split("\n").filter((line) => line !== "");
}

/**
 * What git prints, also for folders that nobody trusts: nothing that the repository's configuration names runs, filters
 * and hooks included. Throws with what git said.
 */
export async function runGit(
  directory: string,
  args: readonly string[],
  { okCodes = [0] }: { readonly okCodes?: readonly number[] } = {},
): Promise<string> {
  const env = { PATH: programPath(process.env.PATH), LC_ALL: "C", ...variables, ...gitEnvironment(directory) };
  const options = { cwd: directory, timeout: LONG_GIT_MS, maxBuffer: MAX_LONG_OUTPUT, env };
  return new Promise((resolve, reject) => {
    execFile("git", ["--no-optional-locks", ...args], options, (error, stdout, stderr) => {
      if (error === null || (typeof error.code === "number" && okCodes.includes(error.code))) return resolve(stdout);
      reject(new Error(stderr.trim() === "" ? error.message : stderr.trim(), { cause: error }));
    });
  });
}
