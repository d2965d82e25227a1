/** The commands themselves: every scenario of the mock through `convert` and `lint`, and their exit codes. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root, transcripts } from "../support/transcripts.ts";

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function franca(args: readonly string[], input = ""): Promise<Finished> {
  const child = spawn(process.execPath, [join(root, "bin", "franca.js"), ...args]);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {}).end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

const mocks = transcripts.filter(({ about }) => about.agent === "mock");

test("every scenario of the mock through convert and lint: no violation but the intended one", async () => {
  const converted = await Promise.all(
    mocks.map(async ({ name, folder, about }) => {
      const { code, stdout } = await franca(["convert", "--from", "auto", join(folder, "native.jsonl")]);
      expect({ name, code }).toEqual({ name, code: about.unparsed === undefined ? 0 : 3 });
      expect(stdout).toBe(readFileSync(join(folder, "events.jsonl"), "utf8"));
      // All recordings are of one session: each gets a name of its own, so that they can be judged in one stream.
      return stdout.replaceAll("mock-demo", name);
    }),
  );
  const { code, stdout } = await franca(["lint", "--json"], converted.join(""));
  const violations = stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).rule]));
  expect({ code, violations }).toEqual({ code: 1, violations: ["universal.unparsed"] });
}, 120_000);

const native = (scenario: string): string =>
  readFileSync(join(root, "transcripts", "mock", scenario, "native.jsonl"), "utf8");

describe("convert", () => {
  test("reads standard input, and writes other dialects", async () => {
    const { code, stdout } = await franca(["convert", "--from", "mock", "--to", "takopi"], native("tool"));
    expect(code).toBe(0);
    expect(stdout).toBe(readFileSync(join(root, "transcripts", "mock", "tool", "takopi.jsonl"), "utf8"));
  });

  test("reads each format that an agent prints under the agent's own name", async () => {
    const formats = [
      { from: "opencode", folder: "opencode-run/document-run" },
      { from: "codex", folder: "codex-exec/resume" },
      { from: "opencode", folder: "opencode/document-part-first" },
    ];
    for (const { from, folder } of formats) {
      const file = join(root, "transcripts", folder, "native.jsonl");
      const { code, stdout } = await franca(["convert", "--from", from, file]);
      const events = readFileSync(join(root, "transcripts", folder, "events.jsonl"), "utf8");
      expect({ folder, code, stdout }).toEqual({ folder, code: 0, stdout: events });
    }
  });

  test("names broken lines by their number, and converts the rest", async () => {
    const lines = native("echo").trim().split("\n");
    const { code, stdout, stderr } = await franca(
      ["convert"],
      [...lines.slice(0, 4), "", "oops", ...lines.slice(4)].join("\n"),
    );
    expect(code).toBe(3);
    expect(stderr).toBe("franca: 1 line was not understood\n  line 6: Not JSON: oops\n");
    expect(stdout).toContain('"turn.ended"');
  });

  test("puts native lines into events, and picks a session", async () => {
    const { stdout } = await franca(["convert", "--include-raw", "--session", "mock-demo"], native("echo"));
    expect(stdout).toContain('"raw":{"type":"delta"');
    const missing = await franca(["convert", "--session", "nobody"], native("echo"));
    expect([missing.code, missing.stdout, missing.stderr]).toEqual([
      2,
      "",
      "franca: The stream has no session nobody.\n",
    ]);
  });

  test.each([
    { args: ["--from", "nobody"], says: "Cannot read nobody" },
    { args: ["--to", "latin"], says: "Cannot write latin" },
    { args: ["--colour"], says: "unknown option" },
  ])("refuses $args", async ({ args, says }) => {
    const { code, stdout, stderr } = await franca(["convert", ...args], native("echo"));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(says);
  });

  test("says when it cannot tell the agent, or read the file", async () => {
    const strange = await franca(["convert"], '{"hello": "world"}\n');
    expect([strange.code, strange.stderr]).toEqual([2, expect.stringContaining("Say it: --from")]);
    const absent = await franca(["convert", "--from", "mock", "no-such-file.jsonl"]);
    expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining("no-such-file.jsonl could not be read")]);
  });

  test("gives nothing for nothing", async () => {
    expect(await franca(["convert"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

describe("lint", () => {
  test("says what is wrong, where, and which rule it is", async () => {
    const events = readFileSync(join(root, "transcripts", "mock", "echo", "events.jsonl"), "utf8")
      .trim()
      .split("\n");
    const { code, stdout, stderr } = await franca(["lint"], events.slice(0, -1).join("\n"));
    expect(code).toBe(1);
    expect(stdout).toBe(
      "stdin:end: universal.turn-ends-once: mock-demo: mock-demo:t1 has no end (docs/rules.md#universal.turn-ends-once)\n",
    );
    expect(stderr).toBe(`${events.length - 1} events, 1 violation\n`);
  });

  test("takes anything for a line, and refuses dialects without rules", async () => {
    const absent = await franca(["lint", "no-such-file.jsonl"]);
    expect([absent.code, absent.stderr]).toEqual([2, expect.stringContaining("no-such-file.jsonl could not be read")]);
    const { code, stdout } = await franca(["lint"], "not json\n");
    expect([code, stdout]).toEqual([1, expect.stringContaining("stdin:1: universal.shape")]);
    expect((await franca(["lint", "--dialect", "latin"])).code).toBe(2);
  });
});
