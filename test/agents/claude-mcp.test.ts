/** The real Claude Code with MCP servers on stdio and over HTTP, asking Codex through `franca mcp`, and in a budget. */
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { setup as codexSetup } from "../../src/adapters/codex/trial.ts";
import { prepare } from "../../src/cli/doctor-trial.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { answer, answers, bash, call, ends, missing, openBench, sandbox, text } from "../support/claude.ts";
import { calls, says } from "../support/codex-agent.ts";
import { startDaemon } from "../support/daemon.ts";
import { serveMcp } from "../support/mcp-http.ts";
import { describeNeeding } from "../support/requires.ts";
import { until } from "../support/sessions.ts";
import { root } from "../support/transcripts.ts";

const birds = { command: process.execPath, args: [join(root, "test/support/mcp-server.js")] };

const outputs = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type !== "item.completed") return [];
    return event.data.item.content.flatMap((part) => (part.type === "tool_result" ? [part.output] : []));
  });

describeNeeding("Claude Code and MCP", { missing }, () => {
  test("tools of servers on stdio and over HTTP are asked for and called; a failure is a failed result", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(call("mcp__birds__add", { a: 1, b: 2 })),
          answer(call("mcp__web__add", { a: 3, b: 4 })),
          answer(call("mcp__web__fail", {})),
          answer(text("Added.")),
        ],
      }),
    });
    const web = await serveMcp();
    await bench.create({ mcp: { birds, web: { url: web.url, headers: { "x-key": "let-me-in" } } } });
    await bench.sessions.prompt(bench.id, { text: "Add" });
    let last = 0;
    for (const tool of ["mcp__birds__add", "mcp__web__add", "mcp__web__fail"]) {
      const asked = await bench.last("permission.requested", last);
      last = asked.sequence;
      expect(asked.data.metadata.tool).toBe(tool);
      await bench.sessions.replyPermission(bench.id, asked.data.permission_id, { reply: "once" });
    }
    await bench.last("turn.ended", last);
    const log = await bench.log();
    expect(outputs(log)).toEqual(["3", "7", expect.stringContaining("no bird")]);
    expect(web.keys).toContain("let-me-in");
    expect(answers(log)).toEqual(["Added."]);
  });

  test("a budget of one step stops it in mid-turn", async () => {
    const bench = await openBench({
      script: () => ({ turns: [answer(bash("sleep 600")), answer(text("Too late."))] }),
    });
    await bench.create({ ...sandbox(bench), budget: { prompt: { steps: 1 } } });
    await bench.sessions.prompt(bench.id, { text: "Wait" });
    await bench.last("turn.ended");
    const log = await bench.log();
    expect(ends(log)).toEqual(["budget/signal"]);
    expect(log.filter(({ type }) => type === "budget.updated")).toHaveLength(1);
    expect(bench.model.requests.length).toBeLessThanOrEqual(2);
  });
});

const codexProgram = process.env.FRANCA_TEST_CODEX ?? null;
const bothMissing = missing ?? (codexProgram === null ? "FRANCA_TEST_CODEX does not name Codex" : null);

describeNeeding("Claude Code asks Codex", { missing: bothMissing }, () => {
  test("through franca mcp; what Codex asks for is answered at the root", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(call("mcp__franca__ask", { agent: "codex", prompt: "Make the file made.txt" })),
          answer(text("Codex has made it.")),
        ],
      }),
    });
    const escalated = { cmd: "touch made.txt", sandbox_permissions: "require_escalated", justification: "please" };
    const model = await serveOpenAi({ turns: [calls({ name: "exec_command", input: escalated }), says("Made it.")] });
    onTestFinished(() => model.close());
    symlinkSync(codexProgram ?? "", join(bench.folder, "bin", "codex"));
    mkdirSync(join(bench.folder, "codex"));
    const codexEnv = prepare(codexSetup({ folder: join(bench.folder, "codex"), url: model.url }));
    for (const [name, value] of Object.entries(codexEnv)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const daemon = await startDaemon({ token: "a-token-of-this-test", passEnv: Object.keys(codexEnv) });
    const { sessions } = daemon;
    const id = sessionId("root");
    await sessions.create(id, { agent: "claude", directory: bench.directory, env: { ...bench.env }, delegate: true });
    await sessions.prompt(id, { text: "Let Codex make a file" });
    const own = await until(sessions, id, { type: "permission.requested" });
    expect(own.data.metadata.tool).toBe("mcp__franca__ask");
    await sessions.replyPermission(id, own.data.permission_id, { reply: "once" });
    const relayed = await until(sessions, id, { type: "permission.requested", after: own.sequence });
    expect(relayed.data.metadata.delegate).toMatchObject({ agent: "codex" });
    expect(existsSync(join(bench.directory, "made.txt"))).toBe(false);
    await sessions.replyPermission(id, relayed.data.permission_id, { reply: "once" });
    await until(sessions, id, { type: "turn.ended", after: relayed.sequence });
    expect(existsSync(join(bench.directory, "made.txt"))).toBe(true);
    const { items, lastEnd } = await sessions.get(id);
    expect(lastEnd).toMatchObject({ reason: "completed" });
    expect(JSON.stringify(items)).toContain("Made it.");
    expect(bench.told("Made it.")).toBe(true);
  });
});
