/** Searching with ripgrep, where it is installed: faster, and it knows more of ignore files than we do. */
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { compileGlob, isSliceOver } from "../../core/glob.ts";
import type { Match } from "../../runtime/search.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import { ToolFailure } from "./tool.ts";

const LINE_LENGTH = 500;
/** Output beyond this is not read: far more than is shown. */
const OUTPUT_LIMIT = 4 * 1024 * 1024;

export async function findRipgrep(path: string | undefined): Promise<string | null> {
  for (const folder of (path ?? "").split(delimiter)) {
    if (folder === "") continue;
    const file = join(folder, "rg");
    const usable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return file;
  }
  return null;
}

export interface RipgrepOptions {
  readonly program: string;
  readonly root: string;
  /** A file below the root, or `.`. */
  readonly target: string;
  readonly pattern: string;
  readonly include: string | null;
  readonly limit: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether matches in a file are left out. */
  readonly hides: (path: string) => boolean;
}

export async function ripgrep(options: RipgrepOptions): Promise<readonly Match[]> {
  const { program, root, target, pattern, include, timeoutMs, signal, hides } = options;
  signal.throwIfAborted();
  const args = [
    ...["--no-config", "--line-number", "--no-heading", "--with-filename", "--null", "--color=never", "--hidden"],
    ...["--no-require-git", "--sort=path", `--max-columns=${LINE_LENGTH}`, "--max-columns-preview", "--glob=!.git"],
    // As a type: a glob would bring ignored files back.
    ...(include === null || include.includes("/") ? [] : [`--type-add=wanted:${include}`, "--type=wanted"]),
    ...["-e", pattern, "--", target],
  ];
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const timer = timeoutSignal({ ms: timeoutMs });
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  timer.addEventListener("abort", stop, { once: true });
  try {
    let output = "";
    let complaint = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      if (output.length < OUTPUT_LIMIT) output += chunk;
      else stop();
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      complaint = (complaint + chunk).slice(0, LINE_LENGTH);
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("close", resolve);
      child.once("error", reject);
    });
    signal.throwIfAborted();
    if (timer.aborted)
      throw new ToolFailure(`The search was stopped after ${timeoutMs / 1_000} s. Use a simpler pattern.`);
    // 1: nothing found. 2: an unreadable file among others, or a pattern it does not take.
    if (code === 2 && output === "") throw new ToolFailure(`The search failed: ${complaint.trim()}`);
    const found = output
      .split("\n")
      .flatMap(readMatch)
      .filter(({ path }) => !hides(join(root, path)));
    // Types know names only; a pattern with folders in it is applied here.
    const wanted = include?.includes("/") === true ? await onlyIn(found, include) : found;
    return wanted.slice(0, options.limit + 1);
  } finally {
    signal.removeEventListener("abort", stop);
    timer.removeEventListener("abort", stop);
  }
}

async function onlyIn(found: readonly Match[], include: string): Promise<Match[]> {
  const wanted = compileGlob(include);
  const meter = { steps: 0 };
  const kept: Match[] = [];
  for (const match of found) {
    if (wanted?.matches(match.path, meter) === true) kept.push(match);
    if (isSliceOver(meter)) await pause();
  }
  return kept;
}

function readMatch(line: string): Match[] {
  const found = /^(.*?)\0(\d+):(.*)$/s.exec(line);
  if (found === null) return [];
  const [, path = "", number = "", text = ""] = found;
  return [
    { path: path.replace(/^\.\//, ""), line: Number(number), text: text.replace(/\r$/, "").slice(0, LINE_LENGTH) },
  ];
}
