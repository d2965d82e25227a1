/** The JSON-RPC peer: two spaces of ids, every request answered once, and nothing waits for ever. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answer,
  call,
  disconnect,
  expire,
  hear,
  isRpcLine,
  METHOD_NOT_FOUND,
  notify,
  type RpcLine,
  refuse,
  startRpc,
  TIMED_OUT,
  withdraw,
} from "../../src/core/rpc.ts";

const peer = () => startRpc<string>({ prefix: "s1:", versioned: false });
const ask = (state: ReturnType<typeof peer>, context: string, at = 0) =>
  call(state, { method: "do", params: {}, context, at, timeoutMs: 100 });

describe("our requests", () => {
  test("have ids that no other session of the connection uses", () => {
    const mine = ask(peer(), "a");
    const other = startRpc<string>({ prefix: "s2:", versioned: false });
    expect(mine.id).toBe("s1:1");
    expect(call(other, { method: "do", params: {}, context: "a", at: 0, timeoutMs: 1 }).id).toBe("s2:1");
  });

  test("are answered by id, in any order, each with what it was for", () => {
    const state = peer();
    const [first, second] = [ask(state, "first"), ask(state, "second")];
    expect(hear(state, { id: second.id ?? "", result: 2 })).toEqual({ type: "result", context: "second", result: 2 });
    const error = { code: -32600, message: "no" };
    expect(hear(state, { id: first.id ?? "", error })).toEqual({
      type: "failure",
      context: "first",
      failure: { kind: "remote", ...error },
    });
  });

  test("are answered once: a second answer, and one to nothing, are strays", () => {
    const state = peer();
    const { id = "" } = ask(state, "a");
    hear(state, { id, result: 1 });
    expect(hear(state, { id, result: 1 })).toEqual({ type: "stray" });
    expect(hear(state, { id: "s9:1", result: 1 })).toEqual({ type: "stray" });
  });

  test("time out at their tick, and a late answer is a stray", () => {
    const state = peer();
    const { id = "" } = ask(state, "slow", 1_000);
    expect(expire(state, 1_099)).toEqual([]);
    expect(expire(state, 1_100)).toMatchObject([{ context: "slow", failure: { kind: "timeout", code: TIMED_OUT } }]);
    expect(expire(state, 9_999)).toEqual([]);
    expect(hear(state, { id, result: 1 })).toEqual({ type: "stray" });
  });

  test("fail together when the connection ends", () => {
    const state = peer();
    ask(state, "a");
    ask(state, "b");
    hear(state, { id: 0, method: "ask" });
    expect(disconnect(state).map(({ context, failure }) => [context, failure.kind])).toEqual([
      ["a", "closed"],
      ["b", "closed"],
    ]);
    expect(answer(state, { id: 0, result: {} })).toBeNull();
  });
});

describe("their requests", () => {
  test("live in a space of ids of their own", () => {
    const state = startRpc<string>({ prefix: "", versioned: false });
    const { id = "" } = call(state, { method: "do", params: {}, context: "mine", at: 0, timeoutMs: 1 });
    expect(hear(state, { id, method: "ask", params: 1 })).toEqual({ type: "request", id, method: "ask", params: 1 });
    expect(hear(state, { id, result: "ok" })).toEqual({ type: "result", context: "mine", result: "ok" });
    expect(answer(state, { id, result: "yes" })).toEqual({ id, result: "yes" });
  });

  test("the number 0 and the text 0 are two requests", () => {
    const state = peer();
    hear(state, { id: 0, method: "a" });
    hear(state, { id: "0", method: "b" });
    expect(answer(state, { id: 0, result: 1 })).toEqual({ id: 0, result: 1 });
    expect(answer(state, { id: "0", result: 2 })).toEqual({ id: "0", result: 2 });
  });

  test("are answered or refused once, and not after they were withdrawn", () => {
    const state = peer();
    hear(state, { id: 1, method: "a" });
    expect(refuse(state, { id: 1, code: METHOD_NOT_FOUND, message: "no" })).toEqual({
      id: 1,
      error: { code: METHOD_NOT_FOUND, message: "no" },
    });
    expect(answer(state, { id: 1, result: {} })).toBeNull();
    hear(state, { id: 2, method: "a" });
    expect(withdraw(state, 2)).toBe(true);
    expect(withdraw(state, 2)).toBe(false);
    expect(answer(state, { id: 2, result: {} })).toBeNull();
  });
});

test("the version field is written only where the agent wants it", () => {
  const versioned = startRpc<string>({ prefix: "", versioned: true });
  expect(notify(versioned, { method: "hello" })).toEqual({ jsonrpc: "2.0", method: "hello" });
  expect(notify(peer(), { method: "hello", params: 1 })).toEqual({ method: "hello", params: 1 });
});

test("whatever is heard in whatever order, no request is answered twice and every call ends once", () => {
  const moves = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant("call" as const) }),
      fc.record({ do: fc.constant("reply" as const), id: fc.integer({ min: 1, max: 6 }) }),
      fc.record({ do: fc.constant("ask" as const), id: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ do: fc.constant("answer" as const), id: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ do: fc.constant("tick" as const), at: fc.integer({ min: 0, max: 300 }) }),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(moves, (list) => {
      const state = peer();
      const asked = new Map<number, number>();
      const ends: string[] = [];
      let calls = 0;
      for (const move of list) {
        if (move.do === "call") ask(state, `c${++calls}`);
        if (move.do === "reply") {
          const heard = hear(state, { id: `s1:${move.id}`, result: 1 });
          if (heard.type === "result") ends.push(heard.context);
        }
        if (move.do === "tick") ends.push(...expire(state, move.at).map(({ context }) => context));
        if (move.do === "ask" && hear(state, { id: move.id, method: "m" }).type === "request") {
          asked.set(move.id, (asked.get(move.id) ?? 0) + 1);
        }
        if (move.do === "answer" && answer(state, { id: move.id, result: 1 }) !== null) {
          asked.set(move.id, (asked.get(move.id) ?? 0) - 1);
        }
      }
      ends.push(...disconnect(state).map(({ context }) => context));
      expect(new Set(ends).size).toBe(ends.length);
      expect(ends).toHaveLength(calls);
      for (const open of asked.values()) expect([0, 1]).toContain(open);
    }),
  );
});

test("a line is a request, a notification, a result or an error", () => {
  const lines: RpcLine[] = [{ method: "a" }, { id: 1, method: "a" }, { id: "x", result: null }];
  for (const line of lines) expect(isRpcLine(line)).toBe(true);
  expect(isRpcLine({ id: 1, error: { code: 1, message: "no" } })).toBe(true);
  for (const other of [
    null,
    1,
    "a",
    [],
    {},
    { id: 1 },
    { id: null, result: 1 },
    { method: 1 },
    { id: 1, error: "no" },
  ]) {
    expect(isRpcLine(other)).toBe(false);
  }
});
