/** `franca compare` with the real Claude Code and Codex, each with a scripted model, in one git repository. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { setup as claudeSetup } from "../../src/adapters/claude/trial.ts";
import { setup as codexSetup } from "../../src/adapters/codex/trial.ts";
import { prepare, servers } from "../../src/cli/doctor-trial.ts";
import { runs, says } from "../support/codex-agent.ts";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";

const programs = { claude: process.env.FRANCA_TEST_CLAUDE, codex: process.env.FRANCA_TEST_CODEX };
const missing =
  programs.claude === undefined || programs.codex === undefined ? "run: npm run test:agents -- compare" : null;

interface Compared {
  readonly results: readonly {
    readonly name: string;
    readonly reason: string;
    readonly text: string;
    readonly usage: { readonly tokens: { readonly output: number } } | null;
    readonly worktree: { readonly path: string } | null;
    readonly diff: { readonly files: readonly { readonly path: string }[] };
  }[];
  readonly kept: readonly string[];
}

function repository(folder: string): string {
  const work = join(folder, "project");
  mkdirSync(work);
  writeFileSync(join(work, "README.md"), "# Demo\n");
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
  for (const args of [
    ["init", "-q"],
    ["add", "README.md"],
    [...identity, "commit", "-q", "-m", "first"],
  ]) {
    execFileSync("git", args, { cwd: work });
  }
  return work;
}

describeNeeding("Claude Code beside Codex", { missing }, () => {
  test("both work in worktrees of their own, and the one that is named is kept", async () => {
    const home = temporaryFolder();
    const cwd = repository(home);
    const bin = join(home, "bin");
    for (const folder of ["bin", "claude", "codex"]) mkdirSync(join(home, folder));
    for (const [name, program] of Object.entries(programs)) symlinkSync(program ?? "", join(bin, name));
    const write = { name: "Bash", input: { command: "echo claude > made.txt", description: "Make a file" } };
    const claude = await servers.anthropic({
      turns: [{ type: "answer", blocks: [{ type: "tool_call", ...write }] }, says("Claude has made it.")],
    });
    onTestFinished(() => claude.close());
    const codex = await servers.openai({ turns: [runs("echo codex > made.txt"), says("Codex has made it.")] });
    onTestFinished(() => codex.close());
    const env = {
      ...prepare(claudeSetup({ folder: join(home, "claude"), url: claude.url })),
      ...prepare(codexSetup({ folder: join(home, "codex"), url: codex.url })),
      // Root is refused the mode elsewhere.
      IS_SANDBOX: "1",
      PATH: `${bin}${delimiter}${process.env.PATH}`,
    };
    const config = join(home, "franca.config.json");
    writeFileSync(config, JSON.stringify({ passEnv: Object.keys(env).filter((name) => name !== "PATH") }));
    const asked = ["--agents", "claude,codex", "--permission-mode", "bypass", "--keep", "codex", "--json"];
    const ran = await franca(["compare", "--config", config, ...asked, "--", "Make a file"], { home, cwd, env });
    const { results, kept }: Compared = JSON.parse(ran.stdout);
    expect(results).toMatchObject([
      { name: "claude", reason: "completed", text: expect.stringContaining("Claude has made it.") },
      { name: "codex", reason: "completed", text: expect.stringContaining("Codex has made it.") },
    ]);
    for (const { usage, diff } of results) {
      expect(usage?.tokens.output).toBeGreaterThan(0);
      expect(diff.files).toMatchObject([{ path: "made.txt" }]);
    }
    expect(kept).toEqual(["codex"]);
    const [removed, other] = results.map(({ worktree }) => worktree?.path ?? "");
    expect(existsSync(removed ?? "")).toBe(false);
    expect(readFileSync(join(other ?? "", "made.txt"), "utf8")).toBe("codex\n");
    expect(existsSync(join(cwd, "made.txt"))).toBe(false);
    expect(ran.code).toBe(0);
  });
});
