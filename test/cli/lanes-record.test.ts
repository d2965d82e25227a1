/** The commands around recordings and clients: lanes on the terminal and as a page, record, and OpenCode's TUI. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { franca, serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { About, root, transcriptsFolder } from "../support/transcripts.ts";

const reference = join(transcriptsFolder, "claude", "read-edit-partial", "native.jsonl");

test("lanes: a table as wide as asked for, and a page that needs nothing else", async () => {
  const home = temporaryFolder();
  const { code, stdout } = await franca(["lanes", "--width", "140", reference], { home });
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/native +universal +OpenCode +Takopi +ACP +why/);
  expect(lines.every((line) => line.length <= 140)).toBe(true);
  expect(stdout.match(/session\.status busy/g)).toHaveLength(1);
  expect(stdout.match(/session\.status idle/g)).toHaveLength(1);
  // The bar is drawn from the turn's first event to its last but one.
  const bars = lines.map((line) => line.includes("┃"));
  expect(bars.indexOf(true)).toBe(lines.findIndex((line) => line.includes("turn.started")));
  expect(bars.lastIndexOf(true)).toBe(lines.findIndex((line) => line.includes("turn.ended")) - 1);

  const page = join(home, "lanes.html");
  expect((await franca(["lanes", "--html", page, reference], { home })).code).toBe(0);
  const html = readFileSync(page, "utf8");
  expect(html).toContain('id="recording"');
  expect(html).toContain("default-src 'none'");
  expect(html).not.toMatch(/(src|href)="?https?:/);
  const nothing = await franca(["lanes"], { home, input: "" });
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("--from")]);
});

test("record: a transcript of both directions, converted to the same turns, nothing of this machine in it", async () => {
  const home = temporaryFolder();
  const out = join(home, "made");
  const args = ["record", "--agent", "mock", "--out", out, "--auto-approve", "--", "permission"];
  const { code, stdout } = await franca(args, { home });
  expect([code, stdout]).toEqual([0, expect.stringContaining("the turn ended: completed")]);
  const about = About.parse(JSON.parse(readFileSync(join(out, "about.json"), "utf8")));
  expect(about).toMatchObject({ agent: "mock", turns: [{ reason: "completed", evidence: "signal" }], unparsed: 0 });
  const native = readFileSync(join(out, "native.jsonl"), "utf8");
  expect(native).not.toContain(home);
  expect(native).toContain("/workspace");
  const speakers = native
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).from);
  expect(new Set(speakers)).toEqual(new Set(["host", "agent", ...(speakers.includes("process") ? ["process"] : [])]));
  const converted = await franca(["convert", "--to", "opencode", join(out, "native.jsonl")], { home });
  const linted = await franca(["lint", "--dialect", "opencode"], { home, input: converted.stdout });
  expect([linted.code, linted.stderr]).toEqual([0, expect.stringContaining("0 violations")]);
  expect((await franca(args, { home })).code).toBe(2);
});

test("opencode: says how to get OpenCode where it is missing, and which agents there are", async () => {
  const home = temporaryFolder();
  const env = { PATH: "/usr/bin:/bin", FRANCA_TOOLS: join(home, "tools") };
  expect(existsSync("/usr/bin/opencode")).toBe(false);
  try {
    const missing = await franca(["opencode", "--agent", "mock"], { home, env });
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("franca agents install opencode")]);
    const unknown = await franca(["opencode", "--agent", "nobody"], { home, env });
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("mock")]);
  } finally {
    await franca(["daemon", "stop"], { home, env });
  }
});

test("opencode: opens this machine's own TUI, on the agent of the session that is named", async () => {
  const home = temporaryFolder();
  const { url, token } = await serve({ home, args: ["--port", "0", "--default-agent", "builtin"] });
  const session = await connect({ url, token: token ?? false }).create({ agent: "mock", directory: home });
  const { opencodeId } = await session.get();
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "opencode"), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  const [named, other, nowhere, unknown] = await Promise.all([
    franca(["opencode", "--", "--session", session.id], { home, env }),
    franca(["opencode", "--agent", "builtin", "--", "--continue"], { home, env }),
    franca(["opencode", "--dir", join(home, "nowhere")], { home, env }),
    franca(["opencode", "--", "-s", "nobody"], { home, env }),
  ]);
  const attached = (...words: (string | undefined)[]): string => ["attach", ...words, ""].join("\n");
  expect(named.stdout).toBe(attached(`${url}/opencode/@mock`, "--dir", home, "--session", opencodeId));
  expect(other.stdout).toBe(attached(`${url}/opencode/@builtin`, "--dir", home, "--continue"));
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("is no directory")]);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("franca sessions list")]);
});

test("the documentation's own lanes are what the program prints", async () => {
  const home = temporaryFolder();
  const { stdout } = await franca(["lanes", "--width", "150", reference], { home });
  expect(readFileSync(join(root, "docs", "event-mapping.md"), "utf8")).toContain(stdout.trimEnd());
});
