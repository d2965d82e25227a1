/** The scripted Gemini server on the wire. The real client, Gemini CLI, uses it in test/acp. */
import { afterEach, expect, test } from "vitest";
import { serveGemini } from "../../src/model-server/gemini.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";

let server: ModelServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const ask = (url: string, method: string, body: unknown = {}): Promise<Response> =>
  fetch(`${url}/v1beta/models/scripted:${method}`, { method: "POST", body: JSON.stringify(body) });

const eventsIn = (text: string): unknown[] =>
  text
    .split("\n\n")
    .filter((part) => part.startsWith("data: "))
    .map((part) => JSON.parse(part.slice("data: ".length)));

test("streams thoughts, text and calls as parts, with usage at the end", async () => {
  const blocks = [
    { type: "thinking" as const, text: "Hm." },
    { type: "text" as const, text: "One two", chunks: 2 },
    { type: "tool_call" as const, name: "weigh", input: { bird: "owl" } },
  ];
  server = await serveGemini({ turns: [{ type: "answer", blocks }] });
  const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
  const tools = [{ functionDeclarations: [{ name: "weigh" }] }];
  const events = eventsIn(await (await ask(server.url, "streamGenerateContent?alt=sse", { contents, tools })).text());
  expect(events).toMatchObject([
    { candidates: [{ content: { role: "model", parts: [{ text: "Hm.", thought: true }] } }] },
    { candidates: [{ content: { parts: [{ text: "One " }] } }] },
    { candidates: [{ content: { parts: [{ text: "two" }] } }] },
    { candidates: [{ content: { parts: [{ functionCall: { name: "weigh", args: { bird: "owl" } } }] } }] },
    { candidates: [{ finishReason: "STOP" }], usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20 } },
  ]);
  expect(server.requests).toMatchObject([{ model: "scripted", tools: ["weigh"] }]);
});

test("answers whole, counts tokens, and gives the provider's errors", async () => {
  server = await serveGemini({
    turns: [
      { type: "answer", blocks: [{ type: "text", text: "All of it" }], finish: "length" },
      { type: "status", status: 429, message: "Too much" },
      { type: "answer", blocks: [{ type: "text", text: "Half" }], fault: { type: "cut", afterChunks: 1 } },
    ],
  });
  expect(await (await ask(server.url, "generateContent")).json()).toMatchObject({
    candidates: [{ content: { parts: [{ text: "All of it" }] }, finishReason: "MAX_TOKENS" }],
  });
  expect(await (await ask(server.url, "countTokens")).json()).toEqual({ totalTokens: 100 });
  const refused = await ask(server.url, "streamGenerateContent");
  expect([refused.status, await refused.json()]).toEqual([
    429,
    { error: { code: 429, message: "Too much", status: "RESOURCE_EXHAUSTED" } },
  ]);
  const cut = await ask(server.url, "streamGenerateContent");
  await expect(cut.text()).rejects.toThrow();
  expect((await ask(server.url, "embedContent")).status).toBe(404);
});
