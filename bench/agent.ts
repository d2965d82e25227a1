/** A fake agent for the bare relay: says deltas on standard output, line by line as agents do, when told how many. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";

export async function playAgent(): Promise<void> {
  process.stdin.setEncoding("utf8");
  for await (const text of process.stdin) {
    const count = Number(String(text).trim());
    for (let i = 1; i <= count; i += 1) await say(delta(`#${i} `));
    await say({ type: "end", reason: "completed" });
  }
}

/** As large as the deltas of real agents are, with ids and an index around a few letters. */
const delta = (text: string): object => ({
  type: "stream_event",
  event: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
  session_id: "5f0c7b1e-3a52-4c55-9d0e-0f3a6a1f9b11",
  parent_tool_use_id: null,
  uuid: randomUUID(),
});

function say(line: object): Promise<unknown> | undefined {
  return process.stdout.write(`${JSON.stringify(line)}\n`) ? undefined : once(process.stdout, "drain");
}
