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
/** More drivers than any honest repository has. */
const MAX_DRIVERS = 500;

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
  const drivers = [...new Set((listed.stdout ?? "").split("\0").filter((name) => name !== ""))].slice(0, MAX_DRIVERS);
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
