/** `franca compare`: several agents on one prompt in worktrees of their own, side by side, and one of them kept. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { comparisonOf } from "../../src/protocol/comparison.ts";
import { connect } from "../../src/sdk/index.ts";
import { franca, serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

function repository(home: string): string {
  const folder = join(home, "project");
  mkdirSync(folder);
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
  for (const args of [
    ["init", "-q"],
    [...identity, "commit", "-q", "--allow-empty", "-m", "first"],
  ]) {
    execFileSync("git", args, { cwd: folder });
  }
  return folder;
}

interface Compared {
  readonly results: readonly {
    readonly name: string;
    readonly reason: string;
    readonly text: string;
    readonly error: string | null;
    readonly durationMs: number | null;
    readonly usage: { readonly tokens: { readonly output: number } } | null;
    readonly worktree: { readonly path: string } | null;
    readonly diff: { readonly files: readonly unknown[] };
  }[];
  readonly kept: readonly string[];
}

test("results side by side, one worktree kept, and one that fails does not stop the others", async () => {
  const home = temporaryFolder();
  const cwd = repository(home);
  const prompt = ["--", "echo", "Hello, race"];
  const json = await franca(["compare", "--agents", "mock,mock,amp", "--keep", "mock#2", "--json", ...prompt], {
    home,
    cwd,
  });
  const { results, kept }: Compared = JSON.parse(json.stdout);
  expect(results.map(({ name, reason }) => [name, reason])).toEqual([
    ["mock", "completed"],
    ["mock#2", "completed"],
    ["amp", "error"],
  ]);
  expect(results[0]).toMatchObject({ text: expect.stringContaining("Hello, race"), diff: { files: [], added: 0 } });
  expect(results[0]?.durationMs).toBeGreaterThanOrEqual(0);
  expect(results[0]?.usage?.tokens.output).toBeGreaterThan(0);
  expect(results[2]?.error).toContain("not installed");
  expect(json.code).toBe(1);
  expect(kept).toEqual(["mock#2"]);
  expect(results.map(({ worktree }) => worktree !== null && existsSync(worktree.path))).toEqual([false, true, false]);

  const text = await franca(["compare", "--agents", "mock,mock", "--keep", "none", ...prompt], { home, cwd });
  expect(text.code).toBe(0);
  expect(text.stdout).toMatch(/^AGENT +SESSION +RESULT +TIME +TOKENS IN +OUT +COST +FILES +LINES\n/);
  expect(text.stdout.match(/^ {2}Hello, race$/gm)).toHaveLength(2);
  const listed = await franca(["worktrees", "--json"], { home, cwd });
  expect(JSON.parse(listed.stdout).worktrees).toHaveLength(1);

  for (const wrong of [["--agents", "mock"], ["--agents", "mock,mock", "--keep", "nobody"], []]) {
    expect(await franca(["compare", ...wrong, "--", "x"], { home, cwd })).toMatchObject({ code: 2 });
  }
  const outside = await franca(["compare", "--agents", "mock,mock", "--", "x"], { home });
  expect(outside).toMatchObject({ code: 1, stdout: expect.stringContaining("no git repository") });
});

test("with a daemon it prints where to watch, and its sessions can be found together", async () => {
  const home = temporaryFolder();
  const cwd = repository(home);
  const { url, token } = await serve({ home });
  const ran = await franca(["compare", "--agents", "mock,mock=mock-1", "--keep", "mock", "--", "echo", "Hello"], {
    home,
    cwd,
  });
  expect(ran.code).toBe(0);
  const id = /watch them at (\S+)\/#\/compare\/(\S+)\n/.exec(ran.stderr);
  expect(id?.[1]).toBe(url);
  const client = connect({ url, token: token ?? false });
  const sessions = await client.sessions();
  const marks = sessions
    .map(({ metadata }) => comparisonOf(metadata))
    .sort((a, b) => (a?.position ?? 0) - (b?.position ?? 0));
  expect(marks).toEqual([
    { id: id?.[2], name: "mock", position: 0 },
    { id: id?.[2], name: "mock=mock-1", position: 1 },
  ]);
  expect(await client.worktrees()).toHaveLength(1);
});

test.each([undefined, {}, { compare: null }, { compare: "race" }, { compare: { id: 1, name: "a", position: 0 } }])(
  "metadata that is not ours belongs to no comparison: %j",
  (metadata) => expect(comparisonOf(metadata)).toBeNull(),
);
