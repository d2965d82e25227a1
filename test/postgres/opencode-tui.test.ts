/**
 * OpenCode's real TUI attached to one host while another one runs the agent and has the folder: what is drawn is what
 * is checked. Screens are kept in test-output/opencode-tui.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openCodeSessionId } from "../../src/projections/opencode/index.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openStranger, openTwoHosts, passOn } from "../support/host-calls.ts";
import { missing, openTui, program, submit } from "../support/opencode-tui.ts";
import { redDot } from "../support/pictures.ts";
import { TOKEN } from "../support/postgres-hosts.ts";
import { describeNeeding } from "../support/requires.ts";

const START_MS = 60_000;
const FLOW_MS = 180_000;

describeNeeding("OpenCode's TUI on another host", { missing }, () => {
  test("a prompt, its answer, permissions, a mentioned file, a picture, a new session", {
    timeout: FLOW_MS,
  }, async () => {
    // Between the hosts, to see what passes.
    const between = await openStranger();
    const { one, two, ids, directory } = await openTwoHosts({ hostUrl: between.url });
    between.act = (heard, outgoing) => passOn(one.url, heard, outgoing);
    mkdirSync(join(directory, "src"));
    writeFileSync(join(directory, "src", "needle.ts"), "export const one = 1;\n");
    const more = ["-s", openCodeSessionId(sessionId("s"))];
    const terminal = openTui({ program, url: two.url, directory, more, token: TOKEN });
    await terminal.shows(/Default model/, { withinMs: START_MS });
    await submit(terminal, "tool");
    await terminal.shows(/Done: I added a line at the end of README\.md\./);
    await submit(terminal, "permission");
    await terminal.shows(/Permission required[\s\S]*npm test/);
    terminal.keep("other-host-permission");
    terminal.press("Enter");
    await terminal.shows(/Permission required[\s\S]*CHANGELOG\.md[\s\S]*All tests pass/);
    terminal.press("Enter");
    await terminal.shows(/bash was allowed, edit was allowed/);
    terminal.type("echo look at @need");
    await terminal.shows(/┃ src\/needle\.ts/);
    terminal.keep("other-host-mention");
    terminal.press("Enter");
    await terminal.shows(/look at @src\/needle\.ts/);
    terminal.press("Enter");
    await terminal.shows(/File +src\/needle\.ts[\s\S]* look at @src\/needle\.ts/);
    terminal.keep("other-host-answer");
    const sent = async () =>
      (await one.client.session("s").get()).items.findLast(({ role }) => role === "user")?.content;
    expect(await sent()).toContainEqual(
      expect.objectContaining({ type: "file_ref", path: join(directory, "src", "needle.ts") }),
    );
    // A picture is kept on the disk of the agent's host.
    const picture = join(temporaryFolder(), "dot.png");
    writeFileSync(picture, redDot);
    terminal.type("echo see ");
    terminal.paste(picture);
    await terminal.shows(/echo see \[Image 1\]/);
    terminal.press("Enter");
    await terminal.shows(/File +dot\.png[\s\S]* see /);
    terminal.keep("other-host-picture");
    expect(await sent()).toContainEqual(expect.objectContaining({ mime: "image/png", filename: "dot.png" }));
    expect(between.heard.map(({ path }) => path)).toContainEqual(expect.stringMatching(/^\/hosts\/attachments\/s/));
    expect(between.heard.map(({ path }) => path)).toContainEqual(expect.stringMatching(/\/find|\/file|\/fs/));
    terminal.type("/new");
    await terminal.shows(/New session/i);
    terminal.press("Enter");
    await terminal.shows(/Ask anything/);
    await submit(terminal, "echo a second one");
    await terminal.shows(/echo a second one[\s\S]* a second one[\s\S]*▣/);
    terminal.keep("other-host-new-session");
    const [newest] = await two.client.sessions();
    const { placement, directory: where } = await two.client.session(newest?.sessionId ?? "").get({ limit: 0 });
    expect([placement?.host, where]).toEqual([ids.one, directory]);
  });
});
