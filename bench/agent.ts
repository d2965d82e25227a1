/**
 * A fake agent on standard output, the same for everyone who is measured: it speaks as Claude Code does, line by line,
 * lines as large as the real ones, and says as many deltas as it is asked for, as fast as they are taken.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";

const session_id = "5f0c7b1e-3a52-4c55-9d0e-0f3a6a1f9b11";
const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const version = "2.1.325";

export async function playAgent(): Promise<void> {
  if (process.argv.includes("--version")) return console.log(`${version} (Claude Code)`);
  const model = "fake-1";
  const init = { cwd: process.cwd(), tools: [], model, permissionMode: "default", claude_code_version: version };
  await say({ type: "system", subtype: "init", session_id, ...init, uuid: randomUUID() });
  let turn = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    if (!line.includes('"type":"user"')) continue;
    const [, how, count] = /(flood|pace) (\d+)/.exec(line) ?? [];
    turn += 1;
    await playTurn({ id: `msg_${turn}`, model, count: Number(count ?? 1), paced: how === "pace" });
  }
}

interface Playing {
  readonly id: string;
  readonly model: string;
  readonly count: number;
  /** One each millisecond, saying when it was said, by the clock that all processes share. */
  readonly paced: boolean;
}

async function playTurn({ id, model, count, paced }: Playing): Promise<void> {
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  const stream = (event: object) =>
    say({ type: "stream_event", event, session_id, parent_tool_use_id: null, uuid: randomUUID() });
  await stream({ type: "message_start", message });
  await stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  let all = "";
  for (let i = 1; i <= count; i += 1) {
    if (paced) await new Promise((resolve) => setTimeout(resolve, 1));
    const text = paced ? `@${process.hrtime.bigint()}@ ` : `#${i} `;
    all += text;
    const full = stream({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    if (full !== undefined) await full;
  }
  const whole = { ...message, content: [{ type: "text", text: all }] };
  await say({ type: "assistant", message: whole, parent_tool_use_id: null, session_id, uuid: randomUUID() });
  await stream({ type: "content_block_stop", index: 0 });
  await stream({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage });
  await stream({ type: "message_stop" });
  const result = { subtype: "success", is_error: false, result: "", stop_reason: "end_turn", total_cost_usd: 0, usage };
  await say({ type: "result", ...result, session_id, uuid: randomUUID() });
}

function say(line: object): Promise<unknown> | undefined {
  return process.stdout.write(`${JSON.stringify(line)}\n`) ? undefined : once(process.stdout, "drain");
}
