/** One connection, several sessions: lines like the one before reach their session in order, without being parsed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { codex } from "../../src/adapters/codex/index.ts";
import type { Heard, Receiver } from "../../src/runtime/agent/connection/contract.ts";
import { openPool, type SharedConnection } from "../../src/runtime/agent/connection/shared.ts";
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
async function connect(): Promise<{
  receiver: Receiver;
  received: Record<string, string[]>;
  unparsed: () => number;
  members: SharedConnection[];
}> {
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
  const members: SharedConnection[] = [];
  for (const thread of threads) {
    const receiver: Receiver = { receive: (heard) => note(thread, heard) };
    const { connection } = await pool.join({
      session: session(thread),
      adapter: codex,
      key: "k",
      receiver,
      thread,
      open,
      logger: silentLogger,
    });
    members.push(connection);
  }
  for (const thread of threads) received[thread] = [];
  if (shared === null) throw new Error("the connection was not opened");
  return { receiver: shared, received, unparsed: () => unparsed, members };
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

test("a line like the one before goes to another session once its thread has another owner, and to none without one", async () => {
  const { receiver, received, unparsed, members } = await connect();
  const [one, two] = members;
  const say = (delta: string): boolean => receiver.receive({ type: "text", text: lineOf("one", delta, 1) });
  for (const delta of ["a", "b"]) say(delta);
  expect([received.one?.length, unparsed()]).toEqual([2, 1]);
  two?.own("one");
  for (const delta of ["c", "d"]) say(delta);
  await two?.leave();
  say("e");
  expect(received).toEqual({
    one: ["a", "b"].map((delta) => lineOf("one", delta, 1)),
    two: ["c", "d"].map((delta) => lineOf("one", delta, 1)),
  });
  await one?.leave();
});
