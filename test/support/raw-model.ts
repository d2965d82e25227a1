/** A model server for what no script can say: answers that end without a reason. Chat Completions and Messages. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** The bodies of the answers, in order, each a list of `data:` payloads; the last one is repeated. */
export async function serveRaw(
  answers: readonly (readonly unknown[])[],
): Promise<{ url: string; count: () => number }> {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const payloads = answers[Math.min(count, answers.length - 1)] ?? [];
      count += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const payload of payloads) response.write(`data: ${JSON.stringify(payload)}\n\n`);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, count: () => count };
}

export const chatChunk = (delta: unknown, finish: string | null = null) => ({
  id: "chat",
  object: "chat.completion.chunk",
  created: 0,
  model: "test-model",
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** The events of a Messages answer that never says why it stopped. */
export const unfinishedMessage = (...texts: string[]): unknown[] => [
  {
    type: "message_start",
    message: {
      ...{ id: "msg", type: "message", role: "assistant", model: "test-model", content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
    },
  },
  ...texts.flatMap((text, index) => [
    { type: "content_block_start", index, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index },
  ]),
  { type: "message_stop" },
];
