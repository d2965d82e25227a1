/** Links to sessions in what `serve` and `run` print: a login code is for a terminal only, never for a file. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { franca, program, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { hasTmux, openTerminal } from "../support/terminal.ts";
import { root } from "../support/transcripts.ts";

describeNeeding("links", { missing: hasTmux() ? null : "tmux is not installed" }, () => {
  const screens = join(root, "test-output", "screens");

  test("run: with a code at a terminal, without one in a pipe", async () => {
    const home = temporaryFolder();
    const { url } = await serve({ home, args: ["--port", "0"] });
    const piped = await franca(["run", "--", "echo hi"], { home });
    expect(piped.stderr).toContain(`watch it at ${url}/#/s/`);
    expect(piped.stdout + piped.stderr).not.toContain("code=");
    const terminal = openTerminal({
      command: ["sh", "-c", `'${process.execPath}' '${program}' run -- echo hi; echo "exit $?"; sleep 60`],
      env: testEnvironment(home),
      screens,
      columns: 200,
    });
    const screen = await terminal.shows(/exit 0/);
    const [, code = ""] = /watch it at \S+#code=([\w-]+)&to=%2Fs%2F[\w-]+/.exec(screen) ?? [];
    const login = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) };
    expect((await fetch(`${url}/v1/login`, login)).status).toBe(200);
  });

  test("serve: a session that waits for a person is named with its link, which holds no code", async () => {
    const home = temporaryFolder();
    const terminal = openTerminal({
      command: [process.execPath, program, "serve", "--port", "0"],
      env: testEnvironment(home),
      screens,
      columns: 200,
    });
    const started = await terminal.shows(/Try, in another terminal/);
    const url = /listens on (\S+)/.exec(started)?.[1] ?? "";
    expect(started).toMatch(/Open \S+#code=/);
    const session = await connect({ url, data: join(home, "share", "franca") }).create({ id: "asks", agent: "mock" });
    await session.prompt("permission");
    const screen = await terminal.shows(/needs you/);
    expect(screen).toContain(`Session asks needs you: ${url}/#/s/asks`);
  });
});
