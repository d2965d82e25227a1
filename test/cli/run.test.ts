/** What `franca run` makes of its flags: sessions continued, input read, results for scripts, the agent chosen. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { onlyAgent } from "../../src/core/default-agent.ts";
import { franca, startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

test("an agent is chosen only where there is one to choose", () => {
  const agent = (id: string, more: object = {}) => ({
    id,
    installed: true,
    credentialsAvailable: true,
    isProgram: id !== "builtin" && id !== "mock",
    ...more,
  });
  expect(onlyAgent([agent("mock")])).toBeNull();
  expect(onlyAgent([agent("mock"), agent("claude", { credentialsAvailable: false })])).toBeNull();
  expect(onlyAgent([agent("mock"), agent("claude", { installed: false }), agent("codex")])).toBe("codex");
  expect(onlyAgent([agent("claude"), agent("codex")])).toBeNull();
  // The builtin agent has the same keys as a program that is installed beside it.
  expect(onlyAgent([agent("claude"), agent("builtin")])).toBe("claude");
  expect(onlyAgent([agent("mock"), agent("builtin")])).toBe("builtin");
});

test("--continue and the beginning of an id continue a session; --json is one object; -q is the answer alone", async () => {
  const home = temporaryFolder();
  const folder = join(home, "project");
  mkdirSync(folder);
  const inFolder = { home, cwd: folder };
  const first = await franca(["run", "-a", "mock", "--title", "A title", "echo one"], inFolder);
  expect(first.stderr).toMatch(/^mock \(scripted answers, no model\) · ~\/project$/m);
  const hint = /continue it with: (.*) run -r ([0-9a-f]{8}) "…"/.exec(first.stderr);
  expect(hint?.[1]).toMatch(/bin\/franca\.js$/);
  const second = await franca(["run", "-c", "--json", "tool"], inFolder);
  const result = JSON.parse(second.stdout);
  expect(result).toMatchObject({ reason: "completed", text: expect.stringContaining("Done"), error: null });
  expect(result.session.startsWith(hint?.[2])).toBe(true);
  const third = await franca(["run", "-q", "-r", hint?.[2] ?? "", "echo three"], { home });
  expect([third.code, third.stdout, third.stderr]).toEqual([0, "three\n", ""]);
  const elsewhere = await franca(["run", "-c", "echo four"], { home });
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining("no session in this folder")]);
});

test("--default-agent of the daemon counts for run and for OpenCode clients", async () => {
  const home = temporaryFolder();
  const daemon = await startDaemon({ defaultAgent: "builtin" });
  expect((await daemon.client.agents()).filter(({ isDefault }) => isDefault).map(({ id }) => id)).toEqual(["builtin"]);
  const ran = await franca(["run", "--server", daemon.url, "hello"], { home });
  expect(ran.stderr).toMatch(/^builtin · default model · /m);
  const response = await fetch(`${daemon.url}/opencode/session`, { method: "POST", body: "{}" });
  expect(response.status).toBe(200);
  expect((await daemon.client.sessions()).map(({ agent }) => agent)).toEqual(["builtin", "builtin"]);
});

test("--trust means the folder, whatever the agent; what must not be trusted is refused, not ignored", async () => {
  const home = temporaryFolder();
  const ran = await franca(["run", "-a", "mock", "--trust", "echo hi"], { home });
  expect([ran.code, ran.stdout]).toEqual([1, ""]);
  expect(ran.stderr).toContain("folder for temporary files");
});

test("files go with the prompt", async () => {
  const home = temporaryFolder();
  writeFileSync(join(home, "notes.txt"), "a note");
  const ran = await franca(["run", "-a", "mock", "--format", "universal", "-f", "notes.txt", "echo hi"], { home });
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toContain("notes.txt");
});

test("what needs no login is never chosen: where nothing can run, the mock says that it is the mock", async () => {
  const home = temporaryFolder();
  const ran = await franca(["run", "echo hi"], { home, env: { PATH: "/usr/bin:/bin" } });
  expect([ran.code, ran.stdout]).toEqual([0, "hi\n"]);
  expect(ran.stderr).toMatch(/No agent with credentials is installed. This is the mock agent[\s\S]*^mock \(scripted/m);
});
