/**
 * `opencode run --attach`, and two of OpenCode's real TUIs on one session of the scripted agent. Screens are kept in
 * test-output/opencode-tui. Run by `npm run test:agents -- opencode`.
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

    test("two clients that attach late see what waits for an answer, and each other", async () => {
      const daemon = await startDaemon();
      const api = openCodeApi(`${daemon.url}/opencode`, { directory: daemon.directory });
      const { body: session } = await api.post("/session", {});
      await api.post(`/session/${session.id}/prompt_async`, { parts: [{ type: "text", text: "permission" }] });
      const first = attach(daemon.url, daemon.directory, ["-s", session.id]);
      const second = attach(daemon.url, daemon.directory, ["-s", session.id]);
      await first.shows(/Permission required[\s\S]*npm test/, { withinMs: 60_000 });
      await second.shows(/Permission required[\s\S]*npm test/, { withinMs: 60_000 });
      first.press("Enter");
      await second.shows(/Permission required[\s\S]*CHANGELOG\.md/);
      second.press("Enter");
      await first.shows(/bash was allowed, edit was allowed/);
      await submit(second, "echo from the second one");
      await first.shows(/echo from the second one[\s\S]*from the second one/);
      await first.shows(idle);
      first.keep("two-clients");
    });

    test("a subagent's permission is asked for, at once and from a client that attaches late", async () => {
      const daemon = await startDaemon();
      const api = openCodeApi(`${daemon.url}/opencode`, { directory: daemon.directory });
      const { body: session } = await api.post("/session", {});
      const first = attach(daemon.url, daemon.directory, ["-s", session.id]);
      await first.shows(idle, { withinMs: 60_000 });
      await submit(first, "subagent npm test");
      await first.shows(/Permission required[\s\S]*npm test/);
      first.keep("subagent-permission");
      const late = attach(daemon.url, daemon.directory, ["-s", session.id]);
      await late.shows(/Permission required[\s\S]*npm test/, { withinMs: 60_000 });
      late.press("Enter");
      await first.shows(/The subagent found two files\./);
      first.keep("subagent-permission-answered");
    });
  });
});
