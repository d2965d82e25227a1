/**
 * OpenCode's real TUI and `opencode run --attach` on the scripted agent: what is drawn is what is checked. Screens are
 * kept in test-output/opencode-tui. Run by `npm run test:agents -- opencode`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";
import { openCodeApi } from "../support/opencode-client.ts";
import { openCodeEnvironment, openTui, submit } from "../support/opencode-tui.ts";
import { hasTmux, type Terminal } from "../support/terminal.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";
const idle = /ctrl\+p commands/;

describe.skipIf(program === "")("OpenCode's own clients", () => {
  test("run --attach prints the answer", async () => {
    const daemon = await startDaemon({ token: "secret-token" });
    const args = ["run", "--attach", `${daemon.url}/opencode`, "--dir", daemon.directory, "--password", "secret-token"];
    const child = spawn(program, [...args, "tool"], {
      env: openCodeEnvironment(),
      cwd: daemon.directory,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks: string[] = [];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
    const [code] = await once(child, "exit");
    expect(chunks.join("")).toContain("Done: I added a line at the end of README.md.");
    expect(code).toBe(0);
  });

  describe.skipIf(!hasTmux())("the TUI", () => {
    const attach = (url: string, directory: string, more: readonly string[] = []): Terminal =>
      openTui({ program, url, directory, more });

    test("draws a turn with its tools, dialogs, an abort, a compaction, a second session and the list", async () => {
      const daemon = await startDaemon();
      const terminal = attach(daemon.url, daemon.directory);
      await terminal.shows(/Mock's own choice/, { withinMs: 60_000 });
      await submit(terminal, "tool");
      await terminal.shows(/Done: I added a line at the end of README\.md\./);
      await terminal.shows(/Read README\.md[\s\S]*Edit README\.md[\s\S]*\+ One more line\./);
      terminal.keep("turn-with-tools");

      await submit(terminal, "permission");
      await terminal.shows(/Permission required[\s\S]*npm test/);
      terminal.keep("permission");
      terminal.press("Enter");
      await terminal.shows(/Permission required[\s\S]*CHANGELOG\.md[\s\S]*All tests pass/);
      terminal.keep("permission-with-diff");
      terminal.press("Enter");
      await terminal.shows(/bash was allowed, edit was allowed/);

      await submit(terminal, "question");
      await terminal.shows(/Which language shall I use\?/);
      terminal.keep("question");
      terminal.press("Enter");
      await terminal.shows(/Which checks|Lint/);
      terminal.press("Enter");
      terminal.press("Tab");
      await terminal.shows(/Review[\s\S]*TypeScript/);
      terminal.press("Enter");
      await terminal.shows(/You chose: TypeScript/);

      await submit(terminal, "hang");
      await terminal.shows(/esc (to )?interrupt|interrupt/);
      terminal.press("Escape");
      await terminal.shows(/again to interrupt/);
      terminal.press("Escape");
      await terminal.shows(/interrupted/);
      terminal.keep("aborted");

      terminal.type("/compact");
      await terminal.shows(/Compact|compact session/i);
      terminal.press("Enter");
      await terminal.shows(/Summary: the user tried some scenarios\./);
      terminal.keep("compacted");

      terminal.type("/new");
      await terminal.shows(/New session/i);
      terminal.press("Enter");
      await terminal.shows(/Ask anything/);
      await submit(terminal, "subagent");
      await terminal.shows(/The subagent found two files\./);
      terminal.keep("second-session-with-subagent");
      terminal.type("/sessions");
      await terminal.shows(/Switch session|sessions/i);
      terminal.press("Enter");
      await terminal.shows(/Sessions[\s\S]*Today[\s\S]*● subagent[\s\S]*tool/);
      terminal.keep("session-list");
    });

    test("shows what waits for an answer to a client that attaches late, and two clients see each other", async () => {
      const daemon = await startDaemon();
      const api = openCodeApi(`${daemon.url}/opencode`, { directory: daemon.directory });
      const { body: session } = await api.post("/session", {});
      await api.post(`/session/${session.id}/prompt_async`, { parts: [{ type: "text", text: "permission" }] });
      const first = attach(daemon.url, daemon.directory, ["-s", session.id]);
      const second = attach(daemon.url, daemon.directory, ["-s", session.id]);
      await first.shows(/Permission required[\s\S]*npm test/, { withinMs: 60_000 });
      await second.shows(/Permission required[\s\S]*npm test/, { withinMs: 60_000 });
      first.keep("late-attach");
      first.press("Enter");
      await second.shows(/Permission required[\s\S]*CHANGELOG\.md/);
      second.press("Enter");
      await first.shows(/bash was allowed, edit was allowed/);
      await submit(second, "echo from the second one");
      await first.shows(/echo from the second one[\s\S]*from the second one/);
      await first.shows(idle);
      first.keep("two-clients");
    });
  });
});
