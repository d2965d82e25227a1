/**
 * OpenCode's real TUI on the real Claude Code and the real Codex, each with a scripted model. Needs all three:
 * `npm run test:agents -- opencode claude codex`. Screens are kept in test-output/opencode-tui.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import { answer, bash, call, text } from "../support/claude.ts";
import { calls, says } from "../support/codex-agent.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openTui, submit } from "../support/opencode-tui.ts";
import { redDot } from "../support/pictures.ts";
import { claudeEnvironment, codexEnvironment, daemonFor, programs, trust } from "../support/real-daemon.ts";
import { describeNeeding } from "../support/requires.ts";
import { hasTmux, type Terminal } from "../support/terminal.ts";

const absent = Object.entries(programs).flatMap(([name, path]) => (path === undefined ? [name] : []));
const missing =
  absent.length > 0
    ? `${absent.join(", ")} not named; run: npm run test:agents -- opencode claude codex`
    : hasTmux()
      ? null
      : "tmux is not installed";

/** A file to mention and a picture to paste. */
function fillFolder(directory: string): { readonly picture: string } {
  writeFileSync(join(directory, "needle.md"), "# The needle\n");
  const picture = join(directory, "dot.png");
  writeFileSync(picture, redDot);
  return { picture };
}

/** Types a prompt that mentions the file and carries the picture. */
async function mention(terminal: Terminal, picture: string): Promise<void> {
  terminal.type("look at @need");
  await terminal.shows(/┃ needle\.md/);
  terminal.press("Enter");
  await terminal.shows(/look at @needle\.md/);
  terminal.paste(picture);
  await terminal.shows(/look at @needle\.md +\[Image 1\]/);
  terminal.press("Enter");
}

/** Requests are long: what is looked for is said, not what it was looked for in. */
function expectMentioned(request: unknown): void {
  const asked = JSON.stringify(request);
  const wanted = { file: "needle.md", picture: Buffer.from(redDot).toString("base64") };
  for (const [name, part] of Object.entries(wanted))
    expect({ name, found: asked.includes(part) }).toEqual({ name, found: true });
}

describeNeeding("the TUI on real agents", { missing }, () => {
  test("Claude Code: a tool, a permission dialog, an edit, the answer", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "work"));
    const directory = join(folder, "work");
    const readme = join(directory, "README.md");
    writeFileSync(readme, "# Demo\n\nFirst line.\n");
    const model = await serveAnthropic({
      turns: [
        answer(text("I'll read the file first.", 4), call("Read", { file_path: readme })),
        answer(
          call("Edit", { file_path: readme, old_string: "First line.\n", new_string: "First line.\nSecond line.\n" }),
        ),
        answer(bash("touch made-by-claude.txt")),
        answer(text("Done by Claude Code.", 5)),
      ],
    });
    onTestFinished(() => model.close());
    const url = await daemonFor("claude", claudeEnvironment(folder, model.url), folder);
    const terminal = openTui({ program: programs.opencode ?? "", url, directory });
    await terminal.shows(/Claude Code/, { withinMs: 60_000 });
    await submit(terminal, "Read README.md and add a line at the end");
    await terminal.shows(/Permission required[\s\S]*README\.md[\s\S]*Second line/);
    terminal.keep("claude-permission");
    terminal.press("Enter");
    await terminal.shows(/Permission required[\s\S]*touch made-by-claude\.txt/);
    terminal.press("Enter");
    await terminal.shows(/Read README\.md[\s\S]*\+ Second line\.[\s\S]*Done by Claude Code\./);
    terminal.keep("claude-turn");
    expect(readFileSync(readme, "utf8")).toBe("# Demo\n\nFirst line.\nSecond line.\n");
  });

  test("Claude Code: a person's own command, /undo with its files, and a fork with its history", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "work"));
    const directory = join(folder, "work");
    const readme = join(directory, "README.md");
    writeFileSync(readme, "# Demo\n\nFirst line.\n");
    execFileSync("git", ["init", "-q"], { cwd: directory });
    const edit = { file_path: readme, old_string: "First line.\n", new_string: "First line.\nSecond line.\n" };
    const model = await serveAnthropic({
      turns: [
        answer(text("Good morning to you.")),
        answer(call("Read", { file_path: readme })),
        answer(call("Edit", edit)),
        answer(text("The line is there.")),
        answer(text("Nothing was changed.")),
      ],
    });
    onTestFinished(() => model.close());
    const url = await daemonFor("claude", claudeEnvironment(folder, model.url), folder);
    await trust(url, directory);
    const terminal = openTui({ program: programs.opencode ?? "", url, directory });
    await terminal.shows(/Claude Code/, { withinMs: 60_000 });
    await submit(terminal, "good morning");
    await terminal.shows(/Good morning to you\./);
    terminal.type("!");
    await terminal.shows(/shell/i);
    terminal.type("echo by $((40+2)) hand");
    terminal.press("Enter");
    await terminal.shows(/by 42 hand/);
    terminal.keep("claude-shell");
    await submit(terminal, "add a line");
    await terminal.shows(/Permission required[\s\S]*Second line/);
    terminal.press("Enter");
    await terminal.shows(/The line is there\./);
    expect(JSON.stringify(model.requests)).toContain("by 42 hand");
    terminal.type("/undo");
    await terminal.shows(/Undo/);
    terminal.press("Enter");
    await terminal.shows(/message reverted/);
    terminal.keep("claude-undone");
    expect(readFileSync(readme, "utf8")).toBe("# Demo\n\nFirst line.\n");
    for (let at = 0; at < "add a line".length; at += 1) terminal.press("BSpace");
    await submit(terminal, "what was changed");
    await terminal.shows(/Nothing was changed\./);
    expect(JSON.stringify(model.requests.at(-1))).not.toContain("add a line");
    terminal.type("/fork");
    await terminal.shows(/Fork/);
    terminal.press("Enter");
    await terminal.shows(/Full session|Fork from/i);
    terminal.press("Enter");
    await terminal.shows(/fork #1/);
    await terminal.shows(/Nothing was changed\./);
    terminal.keep("claude-forked");
  });

  test("Claude Code: a mentioned file, a pasted picture, plan in mid-session", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "work"));
    const directory = join(folder, "work");
    const { picture } = fillFolder(directory);
    const model = await serveAnthropic({
      turns: [answer(text("I see a needle and a dot.")), answer(text("This is only a plan."))],
    });
    onTestFinished(() => model.close());
    const url = await daemonFor("claude", claudeEnvironment(folder, model.url), folder);
    await trust(url, directory);
    const terminal = openTui({ program: programs.opencode ?? "", url, directory });
    await terminal.shows(/Claude Code/, { withinMs: 60_000 });
    await mention(terminal, picture);
    await terminal.shows(/I see a needle and a dot\./);
    terminal.keep("claude-mention");
    expectMentioned(model.requests.at(-1));
    terminal.press("Tab");
    await terminal.shows(/Plan · /);
    await submit(terminal, "what would you do");
    await terminal.shows(/This is only a plan\./);
    terminal.keep("claude-plan");
    expect(/plan mode is active/i.test(JSON.stringify(model.requests.at(-1)))).toBe(true);
  });

  test("Codex: a command, a permission dialog, the answer, a mentioned file, a picture, a person's own command", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "work"));
    const directory = join(folder, "work");
    const model = await serveOpenAi({
      turns: [
        calls({ name: "exec_command", input: { cmd: "echo from codex" } }),
        calls({
          name: "exec_command",
          input: { cmd: "touch made.txt", sandbox_permissions: "require_escalated", justification: "May I?" },
        }),
        says("Done by Codex."),
        says("Codex sees a needle and a dot."),
      ],
    });
    onTestFinished(() => model.close());
    const url = await daemonFor("codex", codexEnvironment(folder, model.url), folder);
    await trust(url, directory);
    const terminal = openTui({ program: programs.opencode ?? "", url, directory });
    await terminal.shows(/Codex/, { withinMs: 60_000 });
    await submit(terminal, "make a file");
    await terminal.shows(/Permission required[\s\S]*touch made\.txt/);
    terminal.keep("codex-permission");
    terminal.press("Enter");
    await terminal.shows(/echo from codex[\s\S]*Done by Codex\./);
    terminal.keep("codex-turn");
    await mention(terminal, fillFolder(directory).picture);
    await terminal.shows(/File +needle\.md[\s\S]*File +dot\.png[\s\S]*Codex sees a needle and a dot\./);
    expectMentioned(model.requests.at(-1));
    terminal.type("!");
    await terminal.shows(/shell/i);
    terminal.type("echo by $((40+2)) hand");
    terminal.press("Enter");
    await terminal.shows(/by 42 hand/);
    terminal.keep("codex-mention-and-shell");
  });
});
