/** The real Codex with an MCP server over HTTP, and in a budget. */
import { expect, test } from "vitest";
import { calls, checked, describeCodex, ends, items, runs, says, seen } from "../support/codex-agent.ts";
import { serveMcp } from "../support/mcp-http.ts";

describeCodex("codex: MCP and budgets", (start) => {
  test("tools of a server over HTTP are asked for and called; a failure is a failed result", async () => {
    const codex = await start({
      turns: [
        calls({ id: "c1", name: "mcp__web.add", input: { a: 3, b: 4 } }),
        calls({ id: "c2", name: "mcp__web.fail", input: {} }),
        says("Added."),
      ],
    });
    const web = await serveMcp();
    const mcp = { web: { url: web.url, headers: { "x-key": "let-me-in" } } };
    const id = await codex.create("s", { model: "scripted-model", permissionMode: "default", mcp });
    await codex.sessions.prompt(id, { text: "go" });
    let last = 0;
    for (const tool of ["web.add", "web.fail"]) {
      const asked = await seen(codex.sessions, id, ({ type }) => type === "permission.requested", { after: last });
      if (asked.type !== "permission.requested") throw new Error(asked.type);
      last = asked.sequence;
      expect(asked.data).toMatchObject({ action: "mcp", metadata: { tool } });
      await codex.sessions.replyPermission(id, asked.data.permission_id, { reply: "once" });
    }
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    const results = items(await checked(codex, id)).flatMap(({ content }) =>
      content.flatMap((part) => (part.type === "tool_result" ? [part] : [])),
    );
    expect(results).toMatchObject([
      { output: "7", is_error: false },
      { output: expect.stringContaining("no bird"), is_error: true },
    ]);
    expect(web.keys).toContain("let-me-in");
  });

  test("a budget of one step stops it in mid-turn", async () => {
    const codex = await start({ turns: [runs("sleep 600"), says("Too late.")] });
    const id = await codex.create("s", { budget: { prompt: { steps: 1 } } });
    await codex.sessions.prompt(id, { text: "go" });
    await seen(codex.sessions, id, ({ type }) => type === "turn.ended");
    const log = await checked(codex, id);
    expect(ends(log)).toMatchObject([{ reason: "budget", error: { code: "budget" } }]);
    expect(codex.server.requests.length).toBeLessThanOrEqual(2);
  });
});
