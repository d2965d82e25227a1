/** One connection, several sessions: lines like the one before reach their session in order, without being parsed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { codex } from "../../src/adapters/codex/index.ts";
import type { Heard, Receiver } from "../../src/runtime/agent/connection/contract.ts";
import { openPool } from "../../src/runtime/agent/connection/shared.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { session } from "../support/sessions.ts";

const threads = ["one", "two"] as const;
const lineOf = (threadId: string, delta: string, ms: number): string =>
  JSON.stringify({
    method: "item/agentMessage/delta",
    params: { threadId, turnId: "t", itemId: "i", delta },
    emittedAtMs: ms,
  });

/** Joins two sessions and gives the connection's receiver, and what each session has received, line by line. */
async function connect(): Promise<{ receiver: Receiver; received: Record<string, string[]>; unparsed: () => number }> {
  const pool = openPool();
  const received: Record<string, string[]> = { one: [], two: [] };
  let shared: Receiver | null = null;
  let unparsed = 0;
  const note = (thread: string, heard: Heard): boolean => {
    if (heard.type === "text") {
      unparsed += heard.text.split("\n").length;
      received[thread]?.push(...heard.text.split("\n"));
    } else if (heard.type === "line" || heard.type === "unreadable") received[thread]?.push(heard.text);
    return true;
  };
  const open = async (receiver: Receiver) => {
    shared = receiver;
    // The first line ends the handshake that the second session waits for.
    queueMicrotask(() => receiver.receive({ type: "line", value: { id: 0, result: {} }, text: "{}" }));
    return { perform: () => {}, resume: () => {}, stop: async () => {} };
  };
  for (const thread of threads) {
    const receiver: Receiver = { receive: (heard) => note(thread, heard) };
    await pool.join({
      session: session(thread),
      adapter: codex,
      key: "k",
      receiver,
      thread,
      open,
      logger: silentLogger,
    });
  }
  for (const thread of threads) received[thread] = [];
  if (shared === null) throw new Error("the connection was not opened");
  return { receiver: shared, received, unparsed: () => unparsed };
}

const said = fc.tuple(
  fc.constantFrom(...threads),
  fc.oneof(fc.constantFrom("a", "b", "\n", '"', "}"), fc.string({ unit: "binary" })),
  fc.nat(),
);

test("whatever is said, in whatever pieces, each session receives its own lines in order", async () => {
  let unparsed = 0;
  const pieces = fc.array(fc.array(fc.oneof(said, fc.constantFrom("", "no json")), { minLength: 1, maxLength: 12 }));
  const property = fc.asyncProperty(pieces, async (chunks) => {
    const connection = await connect();
    const expected: Record<string, string[]> = { one: [], two: [] };
    for (const chunk of chunks) {
      const lines = chunk.map((one) => (typeof one === "string" ? one : lineOf(...one)));
      for (const [index, one] of chunk.entries()) {
        const to = one === "" ? [] : typeof one === "string" ? threads : [one[0]];
        for (const thread of to) expected[thread]?.push(lines[index] ?? "");
      }
      connection.receiver.receive({ type: "text", text: lines.join("\n") });
    }
    expect(connection.received).toEqual(expected);
    unparsed += connection.unparsed();
  });
  await fc.assert(property, { numRuns: 200, seed: 1 });
  expect(unparsed).toBeGreaterThan(100);
});
