/**
 * What people do in OpenCode's real TUI beside typing: they look into a subagent that asks, mention files, paste a
 * picture, switch to plan, and open a second one. On the mock; run by `npm run test:agents -- opencode`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { missing, openTui, program, submit } from "../support/opencode-tui.ts";
import { redDot } from "../support/pictures.ts";
import { describeNeeding } from "../support/requires.ts";

const START_MS = 60_000;

async function tuiOn(daemon: TestDaemon, more: readonly string[] = []) {
  const terminal = openTui({ program, url: daemon.url, directory: daemon.directory, more });
  await terminal.shows(/Default model/, { withinMs: START_MS });
  return terminal;
}

/** What the last prompt said and carried. */
async function lastPrompt({ client }: TestDaemon) {
  const [session] = await client.sessions();
  const { items } = await client.session(session?.sessionId ?? "").get();
  return items.findLast(({ role }) => role === "user")?.content ?? [];
}

describeNeeding("more of OpenCode's TUI on the mock", { missing }, () => {
  test("a subagent's permission is asked for where one looks, and its conversation can be entered", async () => {
    const terminal = await tuiOn(await startDaemon());
    await submit(terminal, "subagent rm -rf build");
    await terminal.shows(/Permission required[\s\S]*rm -rf build/);
    terminal.keep("subagent-permission");
    terminal.press("Enter");
    await terminal.shows(/The subagent found two files\./);
    terminal.press("C-x");
    terminal.press("Down");
    await terminal.shows(
      /List the files of the project\.[\s\S]*rm -rf build[\s\S]*12 passed[\s\S]*Explorer \(1 of 1\)/,
    );
    terminal.keep("subagent-entered");
    terminal.press("Up");
    await terminal.shows(/The subagent found two files\./);
  });

  test("a mentioned file and a pasted picture go with the prompt", async () => {
    const daemon = await startDaemon();
    const { directory } = daemon;
    mkdirSync(join(directory, "src"));
    writeFileSync(join(directory, "src", "needle.ts"), "export const one = 1;\n");
    const picture = join(directory, "dot.png");
    writeFileSync(picture, redDot);
    const terminal = await tuiOn(daemon);
    terminal.type("echo look at @need");
    await terminal.shows(/┃ src\/needle\.ts/);
    terminal.keep("mention");
    terminal.press("Enter");
    await terminal.shows(/look at @src\/needle\.ts/);
    terminal.press("Enter");
    await terminal.shows(/File +src\/needle\.ts[\s\S]* look at @src\/needle\.ts/);
    expect(await lastPrompt(daemon)).toContainEqual(
      expect.objectContaining({ type: "file_ref", path: join(directory, "src", "needle.ts"), mime: "text/plain" }),
    );
    terminal.type("echo see ");
    terminal.paste(picture);
    await terminal.shows(/echo see \[Image 1\]/);
    terminal.press("Enter");
    await terminal.shows(/File +dot\.png[\s\S]* see /);
    terminal.keep("picture");
    expect(await lastPrompt(daemon)).toContainEqual(
      expect.objectContaining({ mime: "image/png", filename: "dot.png" }),
    );
  });

  test("plan asks nothing and changes nothing; build asks again, in two TUIs at once, and one answer is enough", async () => {
    const daemon = await startDaemon();
    const terminal = await tuiOn(daemon);
    terminal.press("Tab");
    await terminal.shows(/Plan · Default model/);
    await submit(terminal, "permission");
    await terminal.shows(/bash was rejected, edit was rejected[\s\S]*Plan · mock-1/);
    terminal.keep("plan");
    const [session] = await daemon.client.sessions();
    const second = await tuiOn(daemon, ["-s", session?.opencodeId ?? ""]);
    await second.shows(/bash was rejected/);
    terminal.press("Tab");
    await terminal.shows(/Build · Default model/);
    await submit(terminal, "permission");
    for (const one of [terminal, second]) await one.shows(/Permission required[\s\S]*npm test/);
    second.keep("second-tui");
    second.press("Enter");
    for (const one of [terminal, second]) await one.shows(/Permission required[\s\S]*CHANGELOG\.md/);
    terminal.press("Enter");
    for (const one of [terminal, second]) await one.shows(/bash was allowed, edit was allowed[\s\S]*Build · mock-1/);
    for (const one of [terminal, second]) expect(one.screen()).not.toMatch(/Permission required/);
  });
});
