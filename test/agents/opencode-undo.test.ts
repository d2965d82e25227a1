/**
 * OpenCode's real TUI on the OpenCode agent: /undo and /redo. Screens are kept in test-output/opencode-tui. Run by
 * `npm run test:agents -- opencode`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { calls, says } from "../support/opencode-lab.ts";
import { besideNative } from "../support/opencode-native.ts";
import { text } from "../support/opencode-surface.ts";
import { missing, openTui, program } from "../support/opencode-tui.ts";
import { describeNeeding } from "../support/requires.ts";

describeNeeding("the TUI on the OpenCode agent", { missing }, () => {
  test("/undo takes a prompt and its changes back, /redo brings them back", async () => {
    const { daemon, franca, directory, load, begin } = await besideNative({ program });
    const readme = join(directory, "README.md");
    const edit = { filePath: readme, oldString: "project.\n", newString: "project.\nOne more.\n" };
    load(calls({ name: "edit", input: edit }), says("The line is there."));
    const id = await begin();
    await franca.post(`/session/${id}/message`, text("add a line"));
    const terminal = openTui({ program, url: daemon.url, directory, more: ["-s", id] });
    await terminal.shows(/The line is there\./, { withinMs: 60_000 });
    expect(readFileSync(readme, "utf8")).toContain("One more.");
    terminal.type("/undo");
    await terminal.shows(/Undo/);
    terminal.press("Enter");
    await terminal.shows(/1 message reverted/);
    terminal.keep("undone");
    expect(readFileSync(readme, "utf8")).not.toContain("One more.");
    for (let at = 0; at < "add a line".length; at += 1) terminal.press("BSpace");
    terminal.type("/redo");
    await terminal.shows(/Redo/);
    terminal.press("Enter");
    await terminal.shows(/The line is there\./);
    terminal.keep("redone");
    expect(readFileSync(readme, "utf8")).toContain("One more.");
  });
});
