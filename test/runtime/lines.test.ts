/** Bytes become lines, wherever they are cut. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LineBudget, type OverlongLine, splitLines } from "../../src/runtime/agent/lines.ts";

function split(chunks: readonly Buffer[], limit?: number, budget?: LineBudget) {
  const lines: string[] = [];
  const overlong: OverlongLine[] = [];
  const splitter = splitLines({
    onLine: (line) => lines.push(line),
    onOverlong: (line) => overlong.push(line),
    ...(limit === undefined ? {} : { limit }),
    ...(budget === undefined ? {} : { budget }),
  });
  for (const chunk of chunks) {
    const memory = Buffer.from(chunk);
    splitter.push(memory);
    // The reader uses it for the next chunk.
    memory.fill("z");
  }
  splitter.end();
  return { lines, overlong };
}

/** The same bytes, cut anywhere: also in the middle of a character. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length));
}

const lineText = fc.string({ unit: "grapheme", minLength: 1 }).map((text) => `"${text.replaceAll("\n", "")}\u2028"`);

test("wherever the bytes are cut, the lines are the same", () => {
  fc.assert(
    fc.property(fc.array(lineText), fc.array(fc.nat()), fc.boolean(), (lines, cuts, newlineAtEnd) => {
      const bytes = Buffer.from(lines.join("\n") + (newlineAtEnd ? "\n" : ""));
      expect(split(cutAt(bytes, cuts)).lines).toEqual(lines);
    }),
  );
});

test("a line separator of Unicode and a bare CR stay inside their line", () => {
  expect(split([Buffer.from('{"a":"x\u2028y\u2029z"}\r\n{"b":"\\r"}\n')]).lines).toEqual([
    '{"a":"x\u2028y\u2029z"}\r',
    '{"b":"\\r"}',
  ]);
});

test("bytes that are no UTF-8 are replaced and take nothing else with them", () => {
  const bytes = Buffer.concat([Buffer.from("a"), Buffer.from([0xff, 0xc3]), Buffer.from("\nb\n")]);
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      expect(split(cutAt(bytes, cuts)).lines).toEqual(["a\ufffd\ufffd", "b"]);
    }),
  );
});

test("an overlong line is reported with its length, and the stream goes on", () => {
  fc.assert(
    fc.property(fc.integer({ min: 11, max: 200 }), fc.array(fc.nat()), (length, cuts) => {
      const bytes = Buffer.from(`short\n${"x".repeat(length)}\nafter\n`);
      const chunks = cutAt(bytes, cuts).flatMap((chunk) => {
        // As from a pipe: no chunk is longer than the limit.
        const parts: Buffer[] = [];
        for (let at = 0; at < chunk.length; at += 7) parts.push(chunk.subarray(at, at + 7));
        return parts;
      });
      const { lines, overlong } = split(chunks, 10);
      expect(lines).toEqual(["short", "after"]);
      expect(overlong).toMatchObject([{ bytes: length }]);
    }),
  );
});

test("a line of megabytes is whole, and so is the next", () => {
  const long = `${"x".repeat(1_500_000)}é${"y".repeat(1_500_000)}`;
  const bytes = Buffer.from(`${long}\n${long}z\nshort\n`);
  const chunks = cutAt(
    bytes,
    Array.from({ length: 100 }, (_, index) => index * 65_537),
  );
  expect(split(chunks).lines).toEqual([long, `${long}z`, "short"]);
  const { lines, overlong } = split(chunks, 2_000_000);
  expect(lines).toEqual(["short"]);
  expect(overlong).toMatchObject([
    { excerpt: "x".repeat(1024), bytes: 3_000_002, limit: 2_000_000 },
    { excerpt: "x".repeat(1024), bytes: 3_000_003, number: 2 },
  ]);
});

test("unfinished lines of all streams share a budget, and give back what they held", () => {
  const budget: LineBudget = { limit: 100, held: 0 };
  const lines: string[] = [];
  const overlong: OverlongLine[] = [];
  const streams = ["a", "b", "c"].map((letter) => ({
    letter,
    splitter: splitLines({
      ...{ limit: 60, budget },
      onLine: (line) => lines.push(line),
      onOverlong: (line) => overlong.push(line),
    }),
  }));
  for (const { letter, splitter } of streams) splitter.push(Buffer.from(letter.repeat(40)));
  expect(budget.held).toBe(80);
  for (const { splitter } of streams) splitter.push(Buffer.from("\nnext"));
  for (const { splitter } of streams) splitter.end();
  expect(lines).toEqual(["a".repeat(40), "b".repeat(40), "next", "next", "next"]);
  expect(overlong).toEqual([{ excerpt: "c".repeat(40), bytes: 40, limit: 100, number: 1 }]);
  expect(budget.held).toBe(0);

  const [first] = streams;
  first?.splitter.push(Buffer.from("broken off"));
  expect(budget.held).toBe(10);
  first?.splitter.drop();
  expect(budget.held).toBe(0);
});

test("wherever lines are cut and whatever the bounds, nothing stays held", () => {
  fc.assert(
    fc.property(fc.array(lineText), fc.array(fc.nat()), fc.integer({ min: 1, max: 20 }), (texts, cuts, limit) => {
      const budget: LineBudget = { limit: limit + 5, held: 0 };
      split(cutAt(Buffer.from(texts.join("\n")), cuts), limit, budget);
      expect(budget.held).toBe(0);
    }),
  );
});
