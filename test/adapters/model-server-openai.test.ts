/** The scripted OpenAI server as real clients see it: the AI SDK's providers, in both formats. */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { Script } from "../../src/model-server/script.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";

let server: ModelServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const start = async (script: Script): Promise<string> => {
  server = await serveOpenAi(script);
  return `${server.url}/v1`;
};

const formats = [
  { name: "Responses", model: (baseURL: string) => createOpenAI({ baseURL, apiKey: "none" }).responses("scripted") },
  {
    name: "Chat Completions",
    model: (baseURL: string) =>
      createOpenAICompatible({ name: "scripted", baseURL, apiKey: "none", includeUsage: true }).chatModel("scripted"),
  },
] as const;

const tools = {
  weigh: tool({
    description: "Weighs a bird.",
    inputSchema: jsonSchema<{ bird: string }>({ type: "object", properties: { bird: { type: "string" } } }),
    execute: ({ bird }) => `${bird}: 2 kg`,
  }),
};

describe.each(formats)("$name", ({ model }) => {
  test("streams reasoning, text and tool calls in pieces, with usage at the end", async () => {
    const baseURL = await start({
      turns: [
        {
          type: "answer",
          blocks: [
            { type: "thinking", text: "Let me think.", chunks: 2 },
            { type: "text", text: "I weigh it.", chunks: ["I ", "weigh", " it."] },
            { type: "tool_call", id: "call_1", name: "weigh", input: { bird: "heron" }, chunks: 3 },
          ],
          usage: { input: 70, cacheRead: 30, output: 5, reasoning: 40 },
        },
      ],
    });
    const result = streamText({ model: model(baseURL), prompt: "How heavy?", tools, maxRetries: 0 });
    const deltas: string[] = [];
    for await (const part of result.fullStream) if (part.type === "text-delta") deltas.push(part.text);
    expect(deltas).toEqual(["I ", "weigh", " it."]);
    expect(await result.reasoningText).toBe("Let me think.");
    expect(await result.toolCalls).toMatchObject([
      { toolCallId: "call_1", toolName: "weigh", input: { bird: "heron" } },
    ]);
    expect(await result.finishReason).toBe("tool-calls");
    expect(await result.usage).toMatchObject({ inputTokens: 100, cachedInputTokens: 30, outputTokens: 45 });
    expect(server?.requests[0]).toMatchObject({ model: "scripted", tools: ["weigh"], conversation: "main" });
  });

  test("answers whole when no stream is asked for", async () => {
    const baseURL = await start({ turns: [{ type: "answer", blocks: [{ type: "text", text: "Whole." }] }] });
    const { text, finishReason } = await generateText({ model: model(baseURL), prompt: "hello", maxRetries: 0 });
    expect([text, finishReason]).toEqual(["Whole.", "stop"]);
  });

  test("ends for the reason the script gives", async () => {
    const baseURL = await start({
      turns: [{ type: "answer", blocks: [{ type: "text", text: "Cut" }], finish: "length" }],
    });
    const { finishReason } = await generateText({ model: model(baseURL), prompt: "hello", maxRetries: 0 });
    expect(finishReason).toBe("length");
  });

  test("gives statuses with their headers, and the next turn to a retry", async () => {
    const baseURL = await start({
      turns: [
        { type: "status", status: 429, headers: { "retry-after-ms": "1" } },
        { type: "answer", blocks: [{ type: "text", text: "Recovered." }] },
      ],
    });
    const { text } = await generateText({ model: model(baseURL), prompt: "hello", maxRetries: 1 });
    expect(text).toBe("Recovered.");
    expect(server?.requests).toHaveLength(2);
  });

  test.each([
    { name: "a cut", fault: { type: "cut", afterChunks: 1 } as const },
    { name: "an error", fault: { type: "error", afterChunks: 1, code: "server_error", message: "Broken" } as const },
  ])("$name in the middle of the stream is an error to the client", async ({ fault }) => {
    const baseURL = await start({
      turns: [{ type: "answer", blocks: [{ type: "text", text: "Half of it", chunks: 2 }], fault }],
    });
    const errors: unknown[] = [];
    const result = streamText({
      model: model(baseURL),
      prompt: "hello",
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    await result.consumeStream({ onError: (error) => void errors.push(error) });
    expect(errors.length).toBeGreaterThan(0);
  });

  test("a hanging stream ends when the client goes away, and the server closes at once", async () => {
    const fault = { type: "hang", afterChunks: 1 } as const;
    const baseURL = await start({
      turns: [{ type: "answer", blocks: [{ type: "text", text: "Half of it", chunks: 2 }], fault }],
    });
    const gone = new AbortController();
    const result = streamText({ model: model(baseURL), prompt: "hello", abortSignal: gone.signal, maxRetries: 0 });
    const parts: string[] = [];
    for await (const part of result.fullStream) {
      parts.push(part.type);
      if (part.type === "text-delta") gone.abort();
    }
    expect(parts).toContain("abort");
  });

  test("side conversations have turns of their own", async () => {
    const baseURL = await start({
      turns: [{ type: "answer", blocks: [{ type: "text", text: "Main." }] }],
      side: [
        {
          name: "title",
          match: { messageContains: "a title" },
          turns: [{ type: "answer", blocks: [{ type: "text", text: "Title." }] }],
        },
      ],
    });
    const said = async (prompt: string) => (await generateText({ model: model(baseURL), prompt, maxRetries: 0 })).text;
    expect([await said("give me a title"), await said("hello")]).toEqual(["Title.", "Main."]);
  });
});

test("a tool that takes free text is called with it, one in a namespace by its own name", async () => {
  const baseURL = await start({
    turns: [
      {
        type: "answer",
        blocks: [
          { type: "tool_call", name: "apply_patch", input: "*** Begin Patch" },
          { type: "tool_call", name: "agents.spawn", input: { message: "go" } },
        ],
      },
    ],
  });
  const response = await fetch(`${baseURL}/responses`, {
    method: "POST",
    body: JSON.stringify({
      model: "m",
      input: [],
      tools: [
        { type: "custom", name: "apply_patch" },
        { type: "namespace", name: "agents", tools: [{ type: "function", name: "spawn" }] },
      ],
    }),
  });
  expect(await response.json()).toMatchObject({
    output: [
      { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch" },
      { type: "function_call", namespace: "agents", name: "spawn", arguments: '{"message":"go"}' },
    ],
  });
  expect(server?.requests[0]?.tools).toEqual(["apply_patch", "agents", "agents.spawn"]);
});

test("other paths are answered plainly", async () => {
  const baseURL = await start({ turns: [] });
  expect((await fetch(`${baseURL}/models`)).status).toBe(200);
  expect((await fetch(`${baseURL}/nothing`)).status).toBe(404);
});
