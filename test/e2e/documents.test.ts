/** The lines of the documents, run as they are printed: curl, code and terminal. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const root = join(import.meta.dirname, "..", "..");
const PRINTED_URL = "http://127.0.0.1:7717";

/** The fenced blocks of a language below a heading. */
function blocks(file: string, { heading, language }: { heading: string; language: string }): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const [, section] = text.split(new RegExp(`^#+ ${heading}$`, "m"));
  if (section === undefined) throw new Error(`${file} has no heading "${heading}".`);
  const [own] = section.split(/^#+ /m);
  return [...(own ?? "").matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, block]) => block ?? "",
  );
}

interface Shell {
  readonly home: string;
  readonly url: string;
}

/** `franca` on the path and in node_modules, as after an installation. */
async function open(): Promise<Shell> {
  const home = temporaryFolder();
  mkdirSync(join(home, "bin"));
  mkdirSync(join(home, "node_modules"));
  symlinkSync(join(root, "bin", "franca.js"), join(home, "bin", "franca"));
  symlinkSync(root, join(home, "node_modules", "franca"));
  const { url } = await serve({ home, args: ["--port", "0"] });
  return { home, url };
}

async function run({ home, url }: Shell, command: string, args: readonly string[]): Promise<string> {
  const env = testEnvironment(home, { PATH: `${join(home, "bin")}:${process.env.PATH}` });
  const { stdout } = await promisify(execFile)(command, args, { cwd: home, env });
  return stdout.replaceAll(url, PRINTED_URL);
}

const documents = [
  { file: "docs/api.md", curl: "With curl", code: "From code", terminal: "From the terminal" },
  { file: "README.md", curl: "Five lines", code: "Five lines", terminal: "Five lines" },
];

describe.each(documents)("$file", ({ file, curl, code, terminal }) => {
  test("curl", async () => {
    const shell = await open();
    const lines = commands(file, { heading: curl }).filter((line) => line.startsWith("curl"));
    expect(lines).toHaveLength(3);
    const output: string[] = [];
    for (const line of lines) output.push(await run(shell, "bash", ["-c", line.replaceAll(PRINTED_URL, shell.url)]));
    expect(output[0]).toContain('"healthy":true');
    expect(output[1]).toMatch(/"type":"turn.ended"/);
    expect(JSON.parse(output[2] ?? "")).toMatchObject({ hasMore: false });
  });

  test("code", async () => {
    const shell = await open();
    const [block = ""] = blocks(file, { heading: code, language: "js" });
    writeFileSync(join(shell.home, "example.mjs"), block.replaceAll(PRINTED_URL, shell.url));
    expect(await run(shell, process.execPath, ["example.mjs"])).toContain("Hello, world");
  });

  test("terminal", async () => {
    const shell = await open();
    copyFileSync(join(root, "transcripts/codex/read-edit/native.jsonl"), join(shell.home, "recording.jsonl"));
    const lines = commands(file, { heading: terminal }).filter((line) => line.startsWith("franca"));
    expect(lines.length).toBeGreaterThan(2);
    // A line whose program fails, fails the test.
    const [first] = await Promise.all(lines.map((line) => run(shell, "bash", ["-o", "pipefail", "-c", line])));
    expect(first).not.toBe("");
  });
});

const commands = (file: string, { heading }: { heading: string }): string[] =>
  blocks(file, { heading, language: "sh" }).flatMap((block) => block.trim().split("\n"));
