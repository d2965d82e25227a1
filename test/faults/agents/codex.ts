/** A fake Codex: its app-server's JSON-RPC, as much of it as a turn needs. One process serves several threads. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { lineOf, playTurn, type Voice, write } from "./plays.ts";
import { readPlay } from "./prompts.ts";

const version = "0.166.0";

export async function playCodex(args: readonly string[]): Promise<void> {
  if (args.includes("--version")) return console.log(`codex-cli ${version}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined && typeof method === "string") void answer(id, method, params ?? {});
  }
}

interface Parameters {
  readonly threadId?: string;
  readonly cwd?: string;
  readonly input?: unknown;
}

async function answer(id: unknown, method: string, params: Parameters): Promise<void> {
  switch (method) {
    case "initialize":
      return reply(id, { userAgent: `fake/${version}`, codexHome: "/", platformFamily: "unix", platformOs: "linux" });
    case "thread/start":
    case "thread/resume":
      return openThread(id, params);
    case "turn/start":
      return startTurn(id, params);
    case "turn/interrupt":
      return reply(id, {});
    default:
      return write(lineOf({ id, error: { code: -32601, message: `${method} is not supported` } }));
  }
}

const reply = (id: unknown, result: object): Promise<void> => write(lineOf({ id, result }));

async function openThread(id: unknown, { threadId = randomUUID(), cwd = process.cwd() }: Parameters): Promise<void> {
  const thread = { id: threadId, sessionId: threadId, preview: "", cwd, cliVersion: version, status: { type: "idle" } };
  await reply(id, { thread, model: "fake-1", cwd, approvalPolicy: "on-request", sandbox: { type: "workspaceWrite" } });
  await write(lineOf({ method: "thread/started", params: { thread } }));
}

async function startTurn(id: unknown, { threadId = "", input }: Parameters): Promise<void> {
  const turn = { id: randomUUID(), items: [], status: "inProgress", error: null };
  await reply(id, { turn });
  const { play, size } = readPlay(JSON.stringify(input));
  await playTurn(voice({ threadId, turn, input }), play, size);
}

function voice({ threadId, turn, input }: { threadId: string; turn: { id: string }; input: unknown }): Voice {
  const place = { threadId, turnId: turn.id };
  const prompted = { type: "userMessage", id: randomUUID(), content: input };
  const said = (text: string) => ({ type: "agentMessage", id: `msg_${turn.id}`, text, phase: null });
  const item = (method: string, about: object) => ({ method: `item/${method}`, params: { item: about, ...place } });
  return {
    begin: () => [
      { method: "turn/started", params: { threadId, turn } },
      item("started", prompted),
      item("completed", prompted),
      item("started", said("")),
    ],
    delta: (text) => ({
      method: "item/agentMessage/delta",
      params: { ...place, itemId: `msg_${turn.id}`, delta: text },
    }),
    end: (text) => [
      item("completed", said(text)),
      { method: "turn/completed", params: { threadId, turn: { ...turn, items: [], status: "completed" } } },
    ],
  };
}
