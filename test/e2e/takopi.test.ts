/** `franca run --format takopi` as a chat bridge runs it: lines on stdout, the process gone right after `completed`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { program, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly lines: Record<string, unknown>[];
}

interface Options {
  readonly input?: string;
  readonly home?: string;
  readonly path?: string;
}

function start(args: readonly string[], { input, home = temporaryFolder(), path }: Options = {}) {
  const child = spawn(process.execPath, [program, "run", "--format", "takopi", ...args], {
    cwd: home,
    env: testEnvironment(home, path === undefined ? {} : { PATH: path, FRANCA_TOOLS: join(home, "tools") }),
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  child.stdin.end(input ?? "");
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  const ended = (async (): Promise<Run> => {
    const [code] = await once(child, "close");
    const lines = out
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    return { code, out, lines };
  })();
  return { child, ended, said: () => out };
}

const sound = ({ out, lines }: Run): void => {
  expect(out.endsWith("\n")).toBe(true);
  expect(lines.at(-1)?.type).toBe("completed");
  expect(lines.filter(({ type }) => type === "completed")).toHaveLength(1);
  expect(lines.filter(({ type }) => type === "started").length).toBeLessThanOrEqual(1);
};

describe("a bridge's run", () => {
  test("prompt as an argument, also one that begins with a dash", async () => {
    const run = await start(["--", "echo", "-n", "hello"]).ended;
    sound(run);
    expect(run.code).toBe(0);
    expect(run.lines.at(-1)).toMatchObject({ ok: true, answer: "-n hello", error: null });
  });

  test("prompt on standard input", async () => {
    const run = await start([], { input: "echo from stdin\n" }).ended;
    sound(run);
    expect(run.lines.at(-1)).toMatchObject({ ok: true, answer: "from stdin" });
  });

  test("a failed turn exits with 0 too: `completed` has said it", async () => {
    const run = await start(["--", "error"]).ended;
    sound(run);
    expect(run.code).toBe(0);
    expect(run.lines.at(-1)).toMatchObject({ ok: false, error: "The scripted model failed." });
  });

  test("an agent that cannot be had is `completed` without `started`, and it says why", async () => {
    const unknown = await start(["--agent", "nobody", "--", "hello"]).ended;
    // Only the programs that every machine has.
    const absent = await start(["--agent", "amp", "--", "hello"], { path: "/usr/bin:/bin" }).ended;
    for (const run of [unknown, absent]) {
      sound(run);
      expect([run.code, run.lines.length]).toEqual([0, 1]);
      expect(run.lines[0]).toMatchObject({ ok: false, resume: null });
    }
    expect(unknown.lines[0]).toMatchObject({ engine: "nobody", error: expect.stringContaining("nobody") });
    expect(absent.lines[0]).toMatchObject({ engine: "amp", error: expect.stringMatching(/install/) });
  });

  test("a run of a session that exists already names its engine, model and tools again", async () => {
    const home = temporaryFolder();
    const first = await start(["--", "echo", "one"], { home }).ended;
    const token = Object(first.lines[0]).resume.value;
    const second = await start(["--resume", token, "--", "echo", "two"], { home }).ended;
    sound(second);
    expect(second.lines[0]).toEqual(first.lines[0]);
    expect(second.lines[0]).toMatchObject({ type: "started", engine: "mock", title: expect.any(String) });
    expect(second.lines.at(-1)).toMatchObject({ ok: true, answer: "two", resume: { engine: "mock", value: token } });
  });

  test("requests that nobody can answer are refused at once, and said to be", async () => {
    const run = await start(["--", "permission"]).ended;
    sound(run);
    const warnings = run.lines.filter(({ action }) => Object(action).kind === "warning");
    expect(warnings.length).toBeGreaterThanOrEqual(2);
  });

  test("SIGTERM to the group: completed, and gone within two seconds", async () => {
    const { child, ended, said } = start(["--", "hang"]);
    while (!said().includes('"started"')) await once(child.stdout, "data");
    const group = -(child.pid ?? 0);
    process.kill(group, "SIGTERM");
    // As the bridge does: what is still there after two seconds is killed, and its last words are lost.
    const kill = setTimeout(() => process.kill(group, "SIGKILL"), 2_000);
    const run = await ended;
    clearTimeout(kill);
    sound(run);
    expect(run.lines.at(-1)).toMatchObject({ ok: false, error: "aborted" });
  });
});
