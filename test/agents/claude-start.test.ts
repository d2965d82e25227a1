/** Claude Code that cannot start: a clear error each time, and nothing hangs. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { answer, ends, missing, of, openBench, text } from "../support/claude.ts";
import { describeNeeding } from "../support/requires.ts";
import { turn } from "../support/sessions.ts";

describeNeeding("Claude Code that will not start", { missing }, () => {
  const quiet = { script: () => ({ turns: [answer(text("Never said."))] }) };

  test("not installed: refused when the session is created, and it says how to install it", async () => {
    const bench = await openBench({ ...quiet, program: null });
    await expect(bench.create()).rejects.toMatchObject({
      code: "agent_not_installed",
      message: expect.stringContaining("franca agents install claude"),
    });
  });

  test("a version that does not know our options: the turn fails, and it says what to do", async () => {
    const bench = await openBench({ ...quiet, program: null });
    const old = join(bench.folder, "bin", "claude");
    writeFileSync(old, "#!/bin/sh\necho \"error: unknown option '--include-partial-messages'\" >&2\nexit 1\n", {
      mode: 0o755,
    });
    await bench.create();
    const events = await turn(bench.sessions, bench.id, "Hello");
    expectFailure(events, { code: "agent_version", advice: "franca agents install claude" });
  });

  test.runIf(process.getuid?.() === 0)(
    "bypass as root without a sandbox: refused, and it says what to do",
    async () => {
      const bench = await openBench(quiet);
      await bench.create({ permissionMode: "bypass" });
      const events = await turn(bench.sessions, bench.id, "Hello");
      expectFailure(events, { code: "mode_not_supported", advice: "IS_SANDBOX=1" });
      expect(bench.model.requests).toHaveLength(0);
    },
  );

  test("no key: the turn fails, and it says which variable to set", async () => {
    const bench = await openBench(quiet);
    const { ANTHROPIC_API_KEY: _key, ...env } = bench.env;
    await bench.create({ env });
    const events = await turn(bench.sessions, bench.id, "Hello");
    expectFailure(events, { code: "authentication_failed", advice: "ANTHROPIC_API_KEY" });
    expect(bench.model.requests).toHaveLength(0);
  });

  test("a conversation that does not exist: the turn fails, and it says what to do", async () => {
    const bench = await openBench(quiet);
    await bench.create({ nativeSessionId: "aaaaaaaa-0000-4000-8000-00000000dead" });
    const events = await turn(bench.sessions, bench.id, "Hello");
    expectFailure(events, { code: "native_session_not_found", advice: "start a new session" });
  });

  test("a directory that is gone: the turn fails, and names it", async () => {
    const bench = await openBench(quiet);
    await bench.create();
    rmSync(bench.directory, { recursive: true });
    const events = await turn(bench.sessions, bench.id, "Hello");
    expect(ends(events)).toHaveLength(1);
    const [end] = of(events, "turn.ended");
    expect(end?.data.reason).toBe("error");
    expect(end?.data.error).toMatchObject({
      code: "directory_not_found",
      message: expect.stringContaining(bench.directory),
    });
  });
});

function expectFailure(events: readonly UniversalEvent[], { code, advice }: { code: string; advice: string }): void {
  expect(ends(events)).toHaveLength(1);
  const [end] = of(events, "turn.ended");
  expect(end?.data.reason).toBe("error");
  expect(end?.data.error).toMatchObject({ code, message: expect.stringContaining(advice) });
}
