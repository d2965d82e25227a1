/**
 * A process that owns sessions, to be killed: bundled and run by test/support/run-owner.ts. It reports what it has
 * published, line by line, and does what its standard input asks.
 */
import { createInterface } from "node:readline";
import { sessionId } from "../../src/protocol/ids.ts";
import { open } from "./sessions.ts";

const [folder = "", role = "daemon"] = process.argv.slice(2);
const report = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const sessions = await open(folder, { role: role === "embedded" ? "embedded" : "daemon" });
const stop = new AbortController();

async function publish(): Promise<void> {
  for await (const group of sessions.followAll({ after: sessions.position(), signal: stop.signal })) {
    report({ type: "published", session: group.session, first: group.first, last: group.last });
  }
}

type Order =
  | { type: "create"; session: string; agent: string; directory: string }
  | { type: "prompt"; session: string; text: string }
  | { type: "close" };

async function obey(order: Order): Promise<void> {
  switch (order.type) {
    case "create":
      await sessions.create(sessionId(order.session), { agent: order.agent, directory: order.directory });
      return report({ type: "created", session: order.session });
    case "prompt": {
      const { promptId } = await sessions.prompt(sessionId(order.session), { text: order.text });
      return report({ type: "prompted", session: order.session, promptId });
    }
    case "close":
      stop.abort();
      await sessions.close();
      process.exit(0);
  }
}

void publish();
report({ type: "ready" });
// One after the other, in the order they were given.
for await (const line of createInterface({ input: process.stdin })) {
  await obey(JSON.parse(line)).catch((error: unknown) => {
    report({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  });
}
