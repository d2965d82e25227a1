/** Real ACP agents with MCP servers as a child process and over HTTP, and in a budget. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { calls, openReal, type Real, type RealAgent, ran, realAgents, says } from "../support/acp-real.ts";
import { serveMcp } from "../support/mcp-http.ts";
import { eventually } from "../support/processes.ts";
import { describeNeeding } from "../support/requires.ts";
import { root } from "../support/transcripts.ts";

const variable = (name: string): string => `FRANCA_TEST_${name.toUpperCase().replaceAll("-", "_")}`;

const birds = { command: process.execPath, args: [join(root, "test/support/mcp-server.js")] };

/** Those that ask before they call a tool of an MCP server. OpenCode asks only where its settings say so. */
const asks = new Set(["claude-acp", "gemini", "kimi", "qwen"]);

/** It connects to servers while its first turns run, and cannot call what it has not found yet. */
const connectsLater = new Set(["grok"]);

const resultsIn = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) => {
    if (event.type !== "item.completed") return [];
    return event.data.item.content.flatMap((part) => (part.type === "tool_result" ? [part] : []));
  });

async function opened(real: RealAgent): Promise<Real> {
  const [program = "", node = ""] = [process.env[variable(real.agent)], process.env[variable("node")]];
  const one = await openReal(real, {
    program,
    node,
    scripts: () => ({
      GREETING: [
        calls(real.mcp("birds", "greet", { bird: "heron" })),
        calls(real.mcp("web", "greet", { bird: "stork" })),
        calls(real.mcp("web", "fail", {})),
        says("Greeted."),
      ],
      WORKING: [
        ...["first", "second", "third"].map((name) => calls(real.command(`echo on > ${name}.txt`))),
        says("Too late."),
      ],
    }),
  });
  onTestFinished(() => one.close());
  return one;
}

for (const real of realAgents) {
  const needed = [real.agent, "node"].map(variable);
  const missing = needed.some((name) => process.env[name] === undefined) ? `${needed.join(" or ")} is not set` : null;
  describeNeeding(`${real.agent}: MCP and budgets`, { missing }, () => {
    test.runIf(connectsLater.has(real.agent))("the servers are started and connected to", async () => {
      const one = await opened(real);
      const web = await serveMcp();
      const id = await one.create(
        "greeting",
        {},
        { mcp: { web: { url: web.url, headers: { "x-key": "let-me-in" } } } },
      );
      expect((await ran(one, id, { text: "Hi" })).reason).toBe("completed");
      await eventually(() => web.keys.includes("let-me-in"), { withinMs: 60_000 });
    });

    test.skipIf(connectsLater.has(real.agent))(
      "tools of servers as a child process and over HTTP are called, and a failure is reported",
      async () => {
        const one = await opened(real);
        const web = await serveMcp();
        const mcp = { birds, web: { url: web.url, headers: { "x-key": "let-me-in" } } };
        const id = await one.create("greeting", {}, { mcp });
        const greeted = await ran(one, id, { text: "GREETING" });
        expect(greeted).toMatchObject({ reason: "completed", text: expect.stringContaining("Greeted.") });
        expect(greeted.asked > 0).toBe(asks.has(real.agent));
        const [first, second, third] = resultsIn(greeted.events);
        expect(first).toMatchObject({ is_error: false, output: expect.stringContaining("Hello, heron.") });
        expect(second).toMatchObject({ is_error: false, output: expect.stringContaining("Hello, stork.") });
        expect(third?.output).toMatch(/no bird|reported an error/);
        expect(web.keys).toContain("let-me-in");
      },
    );

    test("a budget of one tool call stops it in mid-turn", async () => {
      const one = await opened(real);
      const id = await one.create("working", {}, { budget: { prompt: { toolCalls: 1 } } });
      const stopped = await ran(one, id, { text: "WORKING" });
      expect(stopped.reason).toBe("budget");
      expect(existsSync(join(one.work, "first.txt"))).toBe(true);
      expect(existsSync(join(one.work, "third.txt"))).toBe(false);
      expect(stopped.events.filter(({ type }) => type === "budget.updated").length).toBeGreaterThan(0);
    });
  });
}
