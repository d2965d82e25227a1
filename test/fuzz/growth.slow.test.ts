/**
 * Work grows no faster than the input. Counted, not timed: V8 counts how often each piece of our code runs, for an
 * input and for one four times as large.
 */
import { Session } from "node:inspector/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { defaultPolicy } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { splitLines } from "../../src/runtime/agent/lines.ts";
import { openCodec } from "../../src/runtime/log/codec/codec.ts";
import { openParser } from "../../src/sdk/sse.ts";
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
