/**
 * OpenCode's real TUI on Franca's own agent, with a scripted model. Needs only OpenCode:
 * `npm run test:agents -- opencode`. Screens are kept in test-output/opencode-tui.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import type { ScriptTurn } from "../../src/model-server/script.ts";
import { answer, call, text } from "../support/builtin.ts";
import { serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openTui, submit } from "../support/opencode-tui.ts";
import { describeNeeding } from "../support/requires.ts";
import { hasTmux } from "../support/terminal.ts";

const program = process.env.FRANCA_TEST_OPENCODE;
const missing =
  program === undefined
    ? "opencode not named; run: npm run test:agents -- opencode"
    : hasTmux()
      ? null
      : "tmux is not installed";

async function tuiOn(turns: readonly ScriptTurn[]) {
  const folder = temporaryFolder();
  const directory = join(folder, "work");
  mkdirSync(directory);
  const model = await serveAnthropic({ turns });
  onTestFinished(() => model.close());
  const { url } = await serve({
    home: folder,
    args: ["--no-token", "--port", "0", "--default-agent", "builtin"],
    env: { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: model.url },
  });
  const terminal = openTui({ program: program ?? "", url, directory });
  await terminal.shows(/Builtin/, { withinMs: 60_000 });
  return { terminal, directory, model };
}

describeNeeding("the TUI on the builtin agent", { missing }, () => {
  test("a file read, an edit and a command, each as OpenCode draws it", async () => {
    const { terminal, directory, model } = await tuiOn([
      answer(text("I read the file first.", 4), call("read", { filePath: "README.md" })),
      answer(call("edit", { filePath: "README.md", oldString: "First line.", newString: "First line.\nSecond line." })),
      answer(call("bash", { command: "echo from the builtin agent" })),
      answer(text("Done by the builtin agent.", 5)),
    ]);
    const readme = join(directory, "README.md");
    writeFileSync(readme, "# Demo\n\nFirst line.\n");
    await submit(terminal, "Read README.md and add a line at the end");
    await terminal.shows(/Permission required[\s\S]*README\.md[\s\S]*Second line/);
    terminal.keep("builtin-permission");
    terminal.press("Enter");
    await terminal.shows(/Permission required[\s\S]*echo from the builtin agent/);
    terminal.press("Enter");
    const done = await terminal.shows(/Done by the builtin agent\./);
    expect(done).toMatch(/Read README\.md/);
    expect(done).toMatch(/\+ Second line\./);
    terminal.keep("builtin-turn");
    expect(readFileSync(readme, "utf8")).toBe("# Demo\n\nFirst line.\nSecond line.\n");
    expect(model.requests).toHaveLength(4);
  });

  test("a retry, a question and a list of tasks", async () => {
    const { terminal, model } = await tuiOn([
      { type: "status", status: 429, headers: { "retry-after": "3" }, message: "Scripted: slow down" },
      answer(call("todowrite", { todos: [{ content: "choose a colour", status: "in_progress" }] })),
      answer(
        call("question", {
          questions: [{ question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }] }],
        }),
      ),
      answer(text("Red it is.")),
    ]);
    await submit(terminal, "Paint it");
    await terminal.shows(/slow down/);
    terminal.keep("builtin-retry");
    await terminal.shows(/Which colour\?[\s\S]*Red[\s\S]*Blue/);
    terminal.keep("builtin-question");
    terminal.press("Enter");
    const done = await terminal.shows(/Red it is\./);
    expect(done).toMatch(/choose a colour/);
    expect(model.requests.at(-1)?.messages).toContain("→ Red");
  });
});
