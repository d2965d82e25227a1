/** A fake ACP agent: as much of the protocol as a turn needs. The answer to the prompt is its only end. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { lineOf, playTurn, type Voice, write } from "./plays.ts";
import { readPlay } from "./prompts.ts";

export async function playAcp(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined && typeof method === "string") void answer(id, method, params ?? {});
  }
}

interface Parameters {
  readonly sessionId?: string;
  readonly prompt?: unknown;
}

async function answer(id: unknown, method: string, { sessionId = randomUUID(), prompt }: Parameters): Promise<void> {
  switch (method) {
    case "initialize":
      return reply(id, {
        protocolVersion: 1,
        agentInfo: { name: "faulty", version: "1.0.0" },
        agentCapabilities: { loadSession: true, promptCapabilities: {}, sessionCapabilities: {} },
        authMethods: [],
      });
    case "session/new":
      return reply(id, { sessionId });
    case "session/load":
      // As real ones do, it repeats a past that Franca has already.
      await write(lineOf(update(sessionId, { sessionUpdate: "user_message_chunk", content: text("An old prompt") })));
      await write(lineOf(chunk(sessionId, "An old answer")));
      return reply(id, {});
    case "session/prompt": {
      const { play, size } = readPlay(JSON.stringify(prompt));
      return playTurn(voice(id, sessionId), play, size);
    }
    default:
      return write(lineOf({ jsonrpc: "2.0", id, error: { code: -32601, message: `${method} is not supported` } }));
  }
}

const reply = (id: unknown, result: object): Promise<void> => write(lineOf({ jsonrpc: "2.0", id, result }));
const text = (words: string): object => ({ type: "text", text: words });
const update = (sessionId: string, one: object): object => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId, update: one },
});
const chunk = (sessionId: string, words: string): object =>
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: text(words) });

const voice = (id: unknown, sessionId: string): Voice => ({
  begin: () => [],
  delta: (words) => chunk(sessionId, words),
  end: () => [{ jsonrpc: "2.0", id, result: { stopReason: "end_turn" } }],
});
