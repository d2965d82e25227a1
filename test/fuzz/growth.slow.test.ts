/**
 * Work grows no faster than the input. Counted, not timed: V8 counts how often each piece of our code runs, for an
 * input and for one four times as large.
 */
import { Session } from "node:inspector/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { mock } from "../../src/adapters/mock/index.ts";
import { defaultPolicy } from "../../src/core/input.ts";
import { spanOf } from "../../src/core/line-template.ts";
import { openSession } from "../../src/core/session.ts";
import { snapshotFold } from "../../src/core/snapshot.ts";
import { projections } from "../../src/projections/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { splitLines } from "../../src/runtime/agent/lines.ts";
import { openCodec } from "../../src/runtime/log/codec/codec.ts";
import { openParser } from "../../src/sdk/sse.ts";
import { lint, ruleSets } from "../../src/server/rules.ts";
import { encodeEvents } from "../support/entries.ts";
import { recordedLines } from "./values.ts";

/** A four times larger input may take this many times the work: four, and some for what is done once in a while. */
const ALLOWED = 5;
/** Less than this is no growth worth a word. */
const BEGINNING = 2_000;

const inspector = new Session();
beforeAll(async () => {
  inspector.connect();
  await inspector.post("Profiler.enable");
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return () => inspector.disconnect();
});

/** How often pieces of our code ran: every function call and every turn of a loop counts. */
async function stepsOf(work: () => void): Promise<number> {
  await inspector.post("Profiler.takePreciseCoverage");
  work();
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  let steps = 0;
  for (const { url, functions } of result) {
    if (!url.includes("/src/")) continue;
    for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  }
  return steps;
}

async function expectLinear(work: (size: number) => void, size: number): Promise<void> {
  work(8);
  const small = await stepsOf(() => work(size));
  const large = await stepsOf(() => work(size * 4));
  expect(small).toBeGreaterThan(0);
  expect({ small, large, times: large / small }).toSatisfy(() => large <= Math.max(BEGINNING, small) * ALLOWED);
}

test("steps are counted: work that grows with the square is seen", async () => {
  const parser = (size: number): void => {
    for (let outer = 0; outer < size; outer += 1) {
      const parse = openParser();
      for (let inner = 0; inner < size; inner += 1) parse("x");
    }
  };
  await expect(expectLinear(parser, 60)).rejects.toThrow();
});

describe("bytes and texts", () => {
  test("a line that never ends, in small pieces", () =>
    expectLinear((size) => {
      const splitter = splitLines({ onLine: () => {}, onOverlong: () => {} });
      for (let piece = 0; piece < size; piece += 1) splitter.push(Buffer.from("x"));
      splitter.end();
    }, 2_000));

  test("many short lines in one piece", () =>
    expectLinear((size) => {
      const splitter = splitLines({ onLine: () => {}, onOverlong: () => {} });
      splitter.push(Buffer.from("{}\n".repeat(size)));
      splitter.end();
    }, 2_000));

  test("a server-sent event that never ends, in small pieces", () =>
    expectLinear((size) => {
      const parse = openParser();
      for (let piece = 0; piece < size; piece += 1) parse("data: x\n");
      parse("\n");
    }, 1_000));

  test("a stored group", () =>
    expectLinear((size) => {
      const encoded = encodeEvents({ id: sessionId("s"), first: 1, last: size });
      const group = openCodec().stored({ session: sessionId("s"), position: 1, ...encoded });
      group.events();
      group.notable();
      group.sse("sequence");
    }, 500));
});

describe("adapters", () => {
  /** Each line as a value whose lists and texts are larger. */
  const grown = (value: unknown, size: number): unknown => {
    if (Array.isArray(value)) return value.flatMap((one) => Array.from({ length: size }, () => grown(one, 1)));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, grown(inner, size)]));
  };

  test.each(adapters)("$agent: the same lines again and again", async (adapter) => {
    const own = recordedLines.filter((line) => adapter.recognises(line)).slice(0, 20);
    const lines = own.length === 0 ? recordedLines.slice(0, 20) : own;
    await expectLinear((size) => {
      const session = openSession({ sessionId: sessionId("s"), adapter, policy: defaultPolicy });
      for (let round = 0; round < size; round += 1) {
        for (const line of lines) session.step({ type: "line", from: "agent", line, at: 1_000 + round });
      }
    }, 10);
  });

  test.each(adapters)("$agent: lines with ever longer lists", async (adapter) => {
    const own = recordedLines.filter((line) => adapter.recognises(line)).slice(0, 20);
    const lines = own.length === 0 ? recordedLines.slice(0, 20) : own;
    await expectLinear((size) => {
      const session = openSession({ sessionId: sessionId("s"), adapter, policy: defaultPolicy });
      for (const line of lines) session.step({ type: "line", from: "agent", line: grown(line, size), at: 1_000 });
    }, 50);
  });
});

describe("many open tool calls", () => {
  const call = (id: string) => ({
    type: "call",
    ...{ id, message: "m", tool: "bash", kind: "command", title: "List", input: { command: "ls" } },
  });
  /** Opens them all, prints something in each, asks a person about some, closes them all. */
  function* lines(size: number): Generator<unknown> {
    yield { type: "ready", session: "n", version: "1", model: "m", directory: "/", permission_mode: "x", tools: [] };
    const ids = Array.from({ length: size }, (_, index) => `c${index}`);
    for (const id of ids) yield* [call(id), { type: "run", id }];
    for (const id of ids) yield* [{ type: "output", id, text: "a" }, { type: "heartbeat" }];
    for (const id of ids.slice(0, 10)) {
      yield { type: "ask", id: `${id}.ask`, action: "bash", call: id, tool: "bash", input: {}, patterns: [] };
    }
    for (const id of ids)
      yield* [
        { type: "output", id, text: "b" },
        { type: "todos", todos: [] },
      ];
    for (const id of ids) yield { type: "result", id, output: "ab", error: false };
    yield { type: "end", reason: "completed" };
  }

  function eventsOf(size: number): UniversalEvent[] {
    const session = openSession({ sessionId: sessionId("s"), adapter: mock, policy: defaultPolicy, connected: true });
    const events: UniversalEvent[] = [];
    let at = 1_000;
    for (const line of lines(size)) {
      at += 1;
      const text = JSON.stringify(line);
      if (session.repeat(spanOf(text), at) === null) {
        events.push(...session.step({ type: "line", from: "agent", line, at }, text).events);
      }
      session.wakeAt();
    }
    return events;
  }

  test("in the turn machine", () => expectLinear((size) => void eventsOf(size), 300));

  test("when a turn ends that has background work", () =>
    expectLinear((size) => {
      const session = openSession({ sessionId: sessionId("s"), adapter: mock, policy: defaultPolicy, connected: true });
      const feed = (line: unknown) => session.step({ type: "line", from: "agent", line, at: 1_000 });
      const ids = Array.from({ length: size }, (_, index) => `c${index}`);
      for (const id of ids) for (const line of [call(id), { type: "run", id }]) feed(line);
      feed({ type: "background", tasks: ids.map((id) => ({ id: `${id}.task`, title: "t", call: id })) });
      for (const id of ids) for (const line of [{ type: "output", id, text: "b" }, { type: "heartbeat" }]) feed(line);
      feed({ type: "end", reason: "completed" });
      for (const id of ids) feed({ type: "result", id, output: "b", error: false });
    }, 300));

  test.each(projections)("in the projection $name", async (projection) => {
    const small = eventsOf(300);
    const large = eventsOf(1_200);
    await expectLinear((size) => {
      const running = projection.open();
      for (const event of size === 300 ? small : size === 1_200 ? large : []) running.step(event);
      running.end();
    }, 300);
  });

  test("in the rules, the snapshot and telemetry", async () => {
    const small = eventsOf(300);
    const large = eventsOf(1_200);
    const pick = (size: number) => (size === 300 ? small : size === 1_200 ? large : []);
    for (const rules of ruleSets.filter(({ dialect }) => dialect === "universal")) {
      await expectLinear((size) => void lint(rules, pick(size)), 300);
    }
    await expectLinear((size) => {
      const snapshot = snapshotFold.start();
      for (const event of pick(size)) snapshotFold.step(snapshot, event);
    }, 300);
  });
});
