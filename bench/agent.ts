/** A fake agent for the bare relay: says `count` deltas on standard output as fast as the pipe takes them, when told to. */
import { once } from "node:events";

const BATCH = 200;

export async function playAgent(): Promise<void> {
  process.stdin.setEncoding("utf8");
  for await (const text of process.stdin) {
    const count = Number(String(text).trim());
    for (let from = 0; from < count; from += BATCH) await say(linesOf({ from, to: Math.min(count, from + BATCH) }));
    await say(`${JSON.stringify({ type: "end", reason: "completed" })}\n`);
  }
}

function linesOf({ from, to }: { from: number; to: number }): string {
  let lines = "";
  for (let i = from; i < to; i += 1)
    lines += `${JSON.stringify({ type: "delta", id: "p1.m1.text", text: `#${i + 1} ` })}\n`;
  return lines;
}

async function say(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}
