/** A fake Claude Code: its stream-json language, as much of it as a turn needs. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { lineOf, playTurn, type Voice, write } from "./plays.ts";
import { readPlay } from "./prompts.ts";

const version = "2.1.325";
const model = "fake-1";
const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

export async function playClaude(args: readonly string[]): Promise<void> {
  if (args.includes("--version")) return console.log(`${version} (Claude Code)`);
  const resumed = args[args.indexOf("--resume") + 1];
  const session_id = args.includes("--resume") && resumed !== undefined ? resumed : randomUUID();
  const head = { cwd: process.cwd(), tools: [], model, permissionMode: "default", claude_code_version: version };
  await write(lineOf({ type: "system", subtype: "init", session_id, ...head, uuid: randomUUID() }));
  let turn = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    const { type, message } = JSON.parse(line);
    if (type !== "user") continue;
    turn += 1;
    const { play, size } = readPlay(JSON.stringify(message));
    await playTurn(voice(session_id, `msg_${process.pid}_${turn}`), play, size);
  }
}

function voice(session_id: string, id: string): Voice {
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  const stream = (event: object) => ({
    type: "stream_event",
    event,
    session_id,
    parent_tool_use_id: null,
    uuid: randomUUID(),
  });
  return {
    begin: () => [
      stream({ type: "message_start", message }),
      stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    ],
    delta: (text) => stream({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
    end: (text) => [
      {
        type: "assistant",
        message: { ...message, content: [{ type: "text", text }] },
        parent_tool_use_id: null,
        session_id,
        uuid: randomUUID(),
      },
      stream({ type: "content_block_stop", index: 0 }),
      stream({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage }),
      stream({ type: "message_stop" }),
      {
        type: "result",
        subtype: "success",
        is_error: false,
        result: text,
        stop_reason: "end_turn",
        total_cost_usd: 0,
        usage,
        session_id,
        uuid: randomUUID(),
      },
    ],
  };
}
