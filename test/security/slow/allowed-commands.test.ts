/**
 * Runs the command lines of the corpus that rules allow, and compares what the system saw with what the parser named:
 * every program that was started and every file that was opened for writing, created, renamed or removed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { Inspection } from "../../../src/permissions/inspection.ts";
import { inspectAction } from "../../../src/runtime/inspect-action.ts";
import { readCorpus } from "../../permissions/corpus.ts";
import { type Fixture, judgeInspected, openFixture, ruleSets } from "../../permissions/fixture.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { describeNeeding } from "../../support/requires.ts";

/** Shell builtins and coreutils: running them needs no network, no repository and no other package. */
const harmless = new Set(
  (
    "ls pwd echo cat wc true false touch mkdir cp rm env timeout nice nohup stdbuf setsid printf test [ cd tee sh bash " +
    "eval command builtin time head tail find dd"
  ).split(" "),
);

const changes =
  "execve,chdir,fchdir,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink," +
  "symlinkat,truncate,chmod,fchmodat,mknod,mknodat";

function missing(): string | null {
  try {
    execFileSync("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" });
    return null;
  } catch {
    return "strace is not installed or not permitted";
  }
}

interface Traced {
  readonly programs: readonly string[];
  readonly written: readonly string[];
}

/** Runs the line with bash. One trace file per process, so that calls are not interleaved. */
function run(line: string, { directory }: Fixture): Traced {
  const folder = temporaryFolder();
  spawnSync(
    "strace",
    ["-ff", "-y", "-s", "4096", "-e", `trace=${changes}`, "-o", join(folder, "t"), "bash", "-c", line],
    {
      cwd: directory,
      // With a socket as its input, bash would run the user's start file.
      stdio: ["ignore", "ignore", "ignore"],
      timeout: 20_000,
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" },
    },
  );
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8").split("\n"));
  const started = files.flat().filter((call) => call.startsWith("execve(") && succeeded(call));
  const programs = started.map((call) => basename(/"([^"]*)"/.exec(call)?.[1] ?? ""));
  // The shell of the line itself.
  programs.splice(programs.indexOf("bash"), 1);
  return { programs, written: files.flatMap((calls) => writtenBy(calls, directory)) };
}

const succeeded = (call: string): boolean => call.includes("(") && !/= -1 E/.test(call);

/** The files that one process changed. Its folder is known from its first call with `AT_FDCWD</folder>`. */
function writtenBy(calls: readonly string[], directory: string): string[] {
  let folder = calls.map((call) => /AT_FDCWD<([^>]*)>/.exec(call)?.[1]).find((one) => one !== undefined) ?? directory;
  return calls.filter(succeeded).flatMap((call) => {
    if (call.startsWith("execve(") || !changesAFile(call)) return [];
    const paths = call.startsWith("fchdir(") ? [/<([^>]*)>/.exec(call)?.[1] ?? folder] : pathsOf(call, folder);
    if (!/^f?chdir\(/.test(call)) return paths;
    folder = paths[0] ?? folder;
    return [];
  });
}

const changesAFile = (call: string): boolean =>
  !/^open(at)?\(/.test(call) || /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND/.test(call);

/** `AT_FDCWD</folder>, "name"` of each argument; other names are relative to the current folder. */
const pathsOf = (call: string, directory: string): string[] =>
  [...call.matchAll(/(?:<([^>]*)>, )?"([^"]*)"/g)].map(([, folder = directory, name = ""]) =>
    isAbsolute(name) ? name : resolve(folder, name),
  );

/** Files that the shell itself opens: devices, and the bodies of here documents. */
const isOfShell = (path: string): boolean => /^\/dev\/|^\/proc\/|\/sh-thd[.-]/.test(path);

function isNamed(path: string, { paths }: Inspection): boolean {
  const real = join(realpathSync(existing(dirname(path))), path.slice(existing(dirname(path)).length));
  return paths.some(
    (named) =>
      named.access !== "read" &&
      [path, real].some(
        (one) => one === named.path || one.startsWith(`${named.path}/`) || named.path.startsWith(`${one}/`),
      ),
  );
}

function existing(path: string): string {
  try {
    realpathSync(path);
    return path;
  } catch {
    return existing(dirname(path));
  }
}

describeNeeding("commands that rules allow, traced", { missing: missing() }, () => {
  test("they start no program and write no file that the parser did not name", async () => {
    let traced = 0;
    for (const { line } of readCorpus()) {
      const fixture = openFixture();
      const { directory } = fixture;
      const command = line.replaceAll("OUT", fixture.outside);
      const action = { kind: "command", command } as const;
      const inspection = await inspectAction(action, directory);
      const isAllowed = ruleSets.some(
        ([, rules]) => judgeInspected({ action, inspection, directory }, { rules }).action === "allow",
      );
      const names = inspection.commands.map(({ text }) => basename(text.split(" ")[0] ?? ""));
      // A login shell also runs the start files of the user, which no rule is about.
      if (!isAllowed || line.startsWith("bash -lc") || !names.every((name) => harmless.has(name))) continue;
      const { programs, written } = run(command, fixture);
      expect([line, programs.filter((name) => !names.includes(name))]).toEqual([line, []]);
      const unnamed = written.filter((path) => !isOfShell(path) && !isNamed(path, inspection));
      expect([line, unnamed]).toEqual([line, []]);
      traced += 1;
    }
    expect(traced).toBeGreaterThan(80);
  });
});
