/** A fake agent for the bare relay: says deltas on standard output, line by line as agents do, when told how many. */
import { once } from "node:events";

export async function playAgent(): Promise<void> {
  process.stdin.setEncoding("utf8");
  for await (const text of process.stdin) {
    const count = Number(String(text).trim());
    for (let i = 1; i <= count; i += 1) await say({ type: "delta", id: "p1.m1.text", text: `#${i} ` });
    await say({ type: "end", reason: "completed" });
  }
}

function say(line: object): Promise<unknown> | undefined {
  return process.stdout.write(`${JSON.stringify(line)}\n`) ? undefined : once(process.stdout, "drain");
}
