/** The real OpenCode with MCP servers on stdio and over HTTP, and in a budget. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { prompt, rest, results } from "../support/agent-turns.ts";
import { serveMcp } from "../support/mcp-http.ts";
import { bash, calls, completed, type OpenCodeLab, openLab, says } from "../support/opencode-lab.ts";
import { endOf, turn } from "../support/sessions.ts";
import { root } from "../support/transcripts.ts";

const program = process.env.FRANCA_TEST_OPENCODE;
const birds = { command: process.execPath, args: [join(root, "test/support/mcp-server.js")] };

describe.skipIf(program === undefined)("opencode: MCP and budgets", () => {
  let lab: OpenCodeLab;
  beforeAll(async () => {
    lab = await openLab(program ?? "");
  });
  afterAll(() => lab?.close());

  test("tools of servers on stdio and over HTTP are called; a failure is a failed result", async () => {
    const web = await serveMcp();
    const begun = await lab.begin(
      [
        calls({ name: "birds_add", input: { a: 1, b: 2 } }),
        calls({ name: "web_add", input: { a: 3, b: 4 } }),
        calls({ name: "web_fail", input: {} }),
        says("Added."),
      ],
      { mcp: { birds, web: { url: web.url, headers: { "x-key": "let-me-in" } } } },
    );
    const events = await turn(lab.sessions, begun.id, "Add");
    expect(endOf(events)).toEqual(completed);
    expect(results(events).map(({ output }) => output)).toEqual(["3", "7", expect.stringContaining("no bird")]);
    expect(web.keys).toContain("let-me-in");
  });

  test("a budget of one step stops it in mid-turn, within one step more", async () => {
    // Its next model call has begun by the time the last one is reported; there is no third.
    const turns = ["true", "true", "touch third.txt"].map((command) => calls(bash(command)));
    const budget = { prompt: { steps: 1 } };
    const begun = await lab.begin([...turns, says("Too late.")], { permissionMode: "bypass", budget });
    const after = await prompt(lab.sessions, begun.id, "Wait");
    const events = await rest(lab.sessions, begun.id, after);
    expect(endOf(events)?.reason).toBe("budget");
    expect(existsSync(join(begun.directory, "third.txt"))).toBe(false);
  });
});
