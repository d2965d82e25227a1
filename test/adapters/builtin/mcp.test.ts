/** The builtin agent with MCP servers: on stdio and over HTTP, each call asked for, failures reported. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { answer, call, openHouse, text } from "../../support/builtin.ts";
import { serveMcp } from "../../support/mcp-http.ts";
import { root } from "../../support/transcripts.ts";

const birds = { command: process.execPath, args: [join(root, "test/support/mcp-server.js")] };

test("tools of servers are offered, asked for and called; a failure is a failed result; a dead server is reported", async () => {
  const web = await serveMcp();
  const mcp = {
    birds,
    web: { url: web.url, headers: { "x-key": "let-me-in" } },
    gone: { command: process.execPath, args: ["-e", "process.exit(3)"] },
  };
  const house = await openHouse(
    [
      answer(call("mcp__birds__add", { a: 1, b: 2 })),
      answer(call("mcp__web__add", { a: 3, b: 4 }), call("mcp__web__fail", {})),
      answer(text("Added.")),
    ],
    { mode: "default", create: { mcp }, outboundAllow: ["127.0.0.1"] },
  );
  const asked: string[] = [];
  const events = await house.turn("Add", async (event) => {
    if (event.type !== "permission.requested") return;
    asked.push(`${event.data.action} ${event.data.metadata.patterns.join()}`);
    await house.sessions.replyPermission(house.id, event.data.permission_id, { reply: "once" });
  });
  expect(asked.sort()).toEqual(["mcp mcp__birds__add", "mcp mcp__web__add", "mcp mcp__web__fail"]);
  const parts = events.flatMap((event) => (event.type === "item.completed" ? event.data.item.content : []));
  const results = parts.flatMap((part) => (part.type === "tool_result" ? [[part.output, part.is_error]] : []));
  expect(results).toEqual(
    expect.arrayContaining([
      ["3", false],
      ["7", false],
      ["There is no bird.", true],
    ]),
  );
  expect(web.keys).toContain("let-me-in");
  const notes = parts.flatMap((part) => (part.type === "status" ? [`${part.label}: ${part.detail}`] : []));
  expect(notes).toEqual([expect.stringMatching(/MCP server gone cannot be used: it ended with code 3/)]);
});

test("a private address needs the person's allow list", async () => {
  const web = await serveMcp();
  const house = await openHouse([answer(text("Hello."))], { create: { mcp: { web: { url: web.url } } } });
  const events = await house.turn("Hi");
  const parts = events.flatMap((event) => (event.type === "item.completed" ? event.data.item.content : []));
  expect(JSON.stringify(parts)).toContain("MCP server web cannot be used");
  expect(web.keys).toEqual([]);
});
