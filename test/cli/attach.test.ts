/** `franca attach` on a real terminal: who reads the keys, and what waited before one came. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { program, startDaemon, type TestDaemon, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { hasTmux, openTerminal, type Terminal } from "../support/terminal.ts";
import { root } from "../support/transcripts.ts";

const attach = ({ url }: TestDaemon, session: string): Terminal =>
  openTerminal({
    command: [process.execPath, program, "attach", session, "--attach", url],
    env: testEnvironment(temporaryFolder(), { LANG: "C.UTF-8" }),
    screens: join(root, "test-output", "attach"),
  });

describeNeeding("franca attach", { missing: hasTmux() ? null : "tmux is not installed" }, () => {
  test("asks what waited, leaves the keys to the question, and takes prompts again afterwards", async () => {
    const daemon = await startDaemon();
    const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
    await session.prompt("permission");

    const terminal = attach(daemon, session.id);
    await terminal.shows(/Allow bash\?/);
    terminal.press("y");
    await terminal.shows(/✓ Bash npm test · Run the tests[\s\S]*Allow edit\?/);
    terminal.press("x", "Enter");
    await terminal.shows(/edit was rejected[\s\S]*completed · [\d.]+ m?s/);
    terminal.type("echo still here");
    terminal.press("Enter");
    await terminal.shows(/^still here$/m);
    terminal.press("C-c");
    await terminal.shows(/the program has ended/);

    const { items } = await session.get();
    const asked = items.filter(({ role }) => role === "user").map(({ content }) => content[0]);
    expect(asked).toEqual(["permission", "echo still here"].map((text) => ({ type: "text", text })));
  });

  test("what was being typed when a question came is still there after it", async () => {
    const daemon = await startDaemon();
    const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
    const terminal = attach(daemon, session.id);
    await terminal.shows(/Type a prompt/);
    terminal.type("echo half a");
    await terminal.shows(/echo half a/);
    await session.prompt("question");
    await terminal.shows(/◆ {2}Which language/);
    terminal.press("Enter");
    await terminal.shows(/◆ {2}Which checks/);
    terminal.press("Space", "Enter");
    await terminal.shows(/You chose: TypeScript; Lint/);
    terminal.type(" sentence");
    terminal.press("Enter");
    await terminal.shows(/^half a sentence$/m);
  });

  test("commands of the input line, and former prompts by the arrow keys", async () => {
    const daemon = await startDaemon();
    const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
    const terminal = attach(daemon, session.id.slice(0, 10));
    await terminal.shows(/^› *$/m);
    terminal.type("question");
    terminal.press("Enter");
    await terminal.shows(/Which colour|\?/);
    terminal.press("C-c");
    await terminal.shows(/✗ (aborted|rejected)/);
    terminal.type("/help");
    terminal.press("Enter");
    await terminal.shows(/\/quit +leave/);
    terminal.press("Up", "Up");
    await terminal.shows(/^› question$/m);
    terminal.press("C-u");
    terminal.type("/quit");
    terminal.press("Enter");
    await terminal.shows(/the program has ended/);
  });

  test("what is typed while a turn runs stays in its line, is queued, and runs afterwards", async () => {
    const daemon = await startDaemon();
    const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
    const terminal = attach(daemon, session.id);
    await terminal.shows(/^› *$/m);
    terminal.type("hang");
    terminal.press("Enter");
    await terminal.shows(/model mock/);
    terminal.type("echo the second");
    await terminal.shows(/^› echo the second$/m);
    // Something is printed while half a prompt stands in the input line.
    await session.prompt("echo from elsewhere");
    terminal.press("Enter");
    await terminal.shows(/queued: echo the second/);
    await terminal.shows(/^› *$/m);
    terminal.press("C-c");
    await terminal.shows(/✗ aborted[\s\S]*^from elsewhere$[\s\S]*^the second$/m);
  });
});
