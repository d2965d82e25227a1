/** What is stored is less than what was written, and what is read back is exactly what was written. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultPolicy } from "../../src/core/input.ts";
import type { DeltaKind } from "../../src/core/report.ts";
import { openSession } from "../../src/core/session.ts";
import type { Source, UniversalEvent } from "../../src/protocol/events.ts";
import { ItemId } from "../../src/protocol/id-schemas.ts";
import { eventId, sessionId, turnId } from "../../src/protocol/ids.ts";
import type { NativeLine } from "../../src/protocol/resources.ts";
import { openCodec } from "../../src/runtime/log/codec/codec.ts";
import { newScratch, openLineWriter } from "../../src/runtime/log/codec/line-writer.ts";
import type { EncodedEvents, EventGroup, NativeText } from "../../src/runtime/log/contract.ts";
import { fake } from "../support/fake-adapter.ts";
import { transcripts } from "../support/transcripts.ts";

const codec = openCodec();

function encode(events: readonly UniversalEvent[]): EncodedEvents {
  const writer = codec.openWriter();
  for (const event of events) writer.event(event);
  const { events: encoded } = writer.finish();
  if (encoded === null) throw new Error("there was nothing to encode");
  return encoded;
}

function encodeNative(lines: readonly NativeText[]): Uint8Array {
  const writer = codec.openWriter();
  for (const line of lines) writer.native(line);
  return writer.finish().native?.bytes ?? Buffer.of();
}

const place = { session: sessionId("s"), position: 7 };

const asText = (events: readonly UniversalEvent[]): string[] => events.map((event) => JSON.stringify(event));

const asFrames = (events: readonly UniversalEvent[], id: (index: number) => string): string =>
  asText(events)
    .map((json, index) => `id: ${id(index)}\ndata: ${json}\n\n`)
    .join("");

/** Not only the same values: the same text, so the order of their fields too. */
function expectSame(events: readonly UniversalEvent[]): void {
  if (events.length === 0) return;
  const encoded = encode(events);
  const written = codec.committed(place, encoded);
  const stored = codec.stored({ ...place, ...encoded });
  for (const group of [written, stored]) {
    expect(asText(group.events())).toEqual(asText(events));
    expect(asText(group.notable())).toEqual(asText(events.filter(({ type }) => type !== "item.delta")));
    expect(group.time()).toBe(events[0]?.time);
    expect(group.sse("sequence").toString()).toBe(asFrames(events, (index) => `${group.first + index}`));
    expect(group.sse("position").toString()).toBe(asFrames(events, (index) => `7.${index}`));
  }
}

/** A few letters of every kind that JSON and UTF-8 treat differently, in any mixture and length. */
const said = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constant("x".repeat(300)));

describe("events", () => {
  test("come back as they were, whatever is said, when, and by which line", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 1 }),
        fc.array(
          fc.record({
            id: fc.constantFrom("a", "b"),
            delta: said,
            later: fc.constantFrom(0, 0, 1, 1700, 86_400_000),
            silent: fc.nat(2),
          }),
        ),
        (id, pieces) => {
          const session = openSession({ sessionId: sessionId(id), adapter: fake, policy: defaultPolicy });
          const events: UniversalEvent[] = [];
          let at = 1_700_000_000_000;
          const hear = (line: object): void => {
            events.push(...session.step({ type: "line", from: "agent", line, at }).events);
          };
          hear({ type: "hello", session: id });
          for (const { later, silent, ...piece } of pieces) {
            at += later;
            for (let count = 0; count < silent; count += 1) hear({ type: "text", id: "a", delta: "" });
            hear({ type: "text", ...piece });
          }
          expectSame(events);
        },
      ),
    );
  });

  test("come back as they were when their numbers get another digit", () => {
    const session = openSession({ sessionId: sessionId("9:99"), adapter: fake, policy: defaultPolicy });
    const events: UniversalEvent[] = [];
    for (let count = 0; count < 1_200; count += 1) {
      const at = 1_700_000_000_000 + Math.floor(count / 100);
      // Now and then a line says nothing, so that lines and sequences get another digit at different deltas.
      const line = { type: "text", id: "a", delta: count % 70 === 0 ? "" : `${count}` };
      events.push(...session.step({ type: "line", from: "agent", line, at }).events);
    }
    expectSame(events);
  });

  test("come back as they were, whatever stands around a delta and between two", () => {
    // Mostly the same, so that two deltas often differ in one thing only.
    const mostly = <T>(usual: T, ...seldom: T[]) =>
      fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, fc.constantFrom(usual, ...seldom));
    const around = fc.record({
      session: mostly("s", "t", 'q"\\ü'),
      native: mostly<string | null>("n", null, "n\n🦀", ""),
      turn: mostly<number | null>(1, null, 2),
      source: mostly<Source>("agent", "daemon"),
      synthetic: mostly(false, true),
      // Back and forth, too: what is stored says what it was given, in or out of order.
      jump: mostly(1, 2, 0, -3),
      later: mostly(0, 5, -5, 86_400_000),
      line: mostly<number | null>(1, null, 0, 2, 1_000_000, -2),
      rule: mostly<string | undefined>(undefined, "item.stub", ""),
    });
    const delta = fc.record({
      item: mostly("s:i1", "s:i2"),
      native_item_id: mostly<string | null>("x", null, 'y"'),
      delta: said,
      part: mostly<DeltaKind>("text", "reasoning", "tool_output"),
    });
    const other = fc.record({
      message: said,
      code: mostly<string | null>(null, "c"),
      details: fc.jsonValue(),
      fatal: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(around, fc.oneof({ weight: 5, arbitrary: delta }, other)), { size: "+1" }),
        (all) => {
          const now = { sequence: 10, time: 1_700_000_000_000, line: 10 };
          const events = all.map(([given, what]): UniversalEvent => {
            now.sequence = Math.max(1, now.sequence + given.jump);
            now.time += given.later;
            now.line = Math.max(1, now.line + (given.line ?? 0));
            const line = given.line === null ? null : now.line;
            const turn_id = given.turn === null ? null : turnId(sessionId("s"), given.turn);
            const envelope = {
              event_id: eventId(sessionId(given.session), now.sequence),
              sequence: now.sequence,
              time: new Date(now.time).toISOString(),
              session_id: sessionId(given.session),
              native_session_id: given.native,
              turn_id,
              source: given.source,
              synthetic: given.synthetic,
            };
            const cause = given.rule === undefined ? { line } : { line, rule: given.rule };
            if (!("item" in what)) return { ...envelope, type: "error", data: what, raw: null, cause, v: 1 };
            const { item, native_item_id, delta, part } = what;
            const data = { item_id: ItemId.parse(item), native_item_id, delta, part };
            return { ...envelope, type: "item.delta", data, raw: null, cause, v: 1 };
          });
          expectSame(events);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("of all recordings come back as they were, cut into groups of any size", () => {
    for (const { name, folder } of transcripts) {
      const golden = readFileSync(join(folder, "events.jsonl"), "utf8").trimEnd().split("\n");
      const events = golden.map((line): UniversalEvent => JSON.parse(line));
      for (const size of [1, 2, 7, 100, events.length]) {
        for (let start = 0; start < events.length; start += size) {
          const group = events.slice(start, start + size);
          const stored = codec.stored({ ...place, ...encode(group) });
          expect(stored.sse("position").toString(), name).toBe(asFrames(group, (index) => `7.${index}`));
        }
      }
      expectSame(events);
    }
  });

  test("a delta that follows another like it is stored as its text", () => {
    const session = openSession({ sessionId: sessionId("s"), adapter: fake, policy: defaultPolicy });
    const events: UniversalEvent[] = [];
    const hear = (line: object, at: number): void => {
      events.push(...session.step({ type: "line", from: "agent", line, at }).events);
    };
    hear({ type: "text", id: "a", delta: "one" }, 1);
    hear({ type: "text", id: "a", delta: "two" }, 1);
    hear({ type: "text", id: "a", delta: 'th"ree' }, 13);
    hear({ type: "text", id: "a", delta: "" }, 14);
    hear({ type: "text", id: "a", delta: "four" }, 14);
    expect(Buffer.from(encode(events).bytes).toString().split("\n").slice(-4)).toEqual([
      '"two"',
      '12"th\\"ree"',
      '1/2"four"',
      "",
    ]);
    expectSame(events);
  });

  test("frames are cut where they are asked to be, by sequence", () => {
    const events = deltas("one", "two", "three", "four");
    const group = codec.stored({ ...place, ...encode(events) });
    const [first = 0] = events.map(({ sequence }) => sequence);
    const all = events.map((event) => `id: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`);
    const cut = (span: { from?: number; to?: number }): string => group.sse("sequence", span).toString();
    expect(cut({ from: first + 2 })).toBe(all.slice(2).join(""));
    expect(cut({ from: first + 1, to: first + 2 })).toBe(all.slice(1, 3).join(""));
    expect(cut({ to: first })).toBe(all.slice(0, 1).join(""));
    expect(cut({ from: 0, to: group.last })).toBe(all.join(""));
    expect(cut({ from: group.last + 1 })).toBe("");
    expect(asText(group.events(first + 1))).toEqual(asText(events.slice(2)));
    expect(group.events(group.last)).toEqual([]);
  });

  test("a fresh group hands out the writer's own events and shared frames; an old one decodes its bytes", () => {
    const own = openCodec();
    const commit = (events: readonly UniversalEvent[]): EventGroup => {
      const writer = own.openWriter();
      for (const event of events) writer.event(event);
      const { events: encoded } = writer.finish();
      if (encoded === null) throw new Error("there was nothing to encode");
      return own.committed(place, encoded);
    };
    const events = deltas("one", "two");
    const group = commit(events);
    expect(group.events()[0]).toBe(events[0]);
    expect(group.notable()[0]).toBe(events.find(({ type }) => type !== "item.delta"));
    expect(group.sse("sequence")).toBe(group.sse("sequence"));
    const bytes = group.sse("sequence");
    // Much more than is kept.
    for (let count = 0; count < 100; count += 1) commit(deltas("x".repeat(100_000))).sse("sequence");
    expect(group.events()[0]).not.toBe(events[0]);
    expect(group.events()).toEqual(events);
    expect(group.sse("sequence")).not.toBe(bytes);
    expect(group.sse("sequence").equals(bytes)).toBe(true);
  });
});

function deltas(...texts: readonly string[]): UniversalEvent[] {
  const session = openSession({ sessionId: sessionId("s"), adapter: fake, policy: defaultPolicy });
  return texts.flatMap(
    (delta) => session.step({ type: "line", from: "agent", line: { type: "text", id: "a", delta }, at: 1 }).events,
  );
}

describe("native lines", () => {
  test("come back as they were, whatever they share with the one before", () => {
    const from = fc.constantFrom("agent" as const, "host" as const, "process" as const);
    const start = fc.constantFrom("", "shared ", "shared 🦀", "shared 🦁");
    const native = fc.oneof(fc.record({ type: start, text: said }), said, fc.constant(null), fc.nat());
    fc.assert(
      fc.property(fc.array(fc.record({ from, native, at: fc.nat(100_000), skipped: fc.nat(2) })), (said) => {
        const lines: NativeText[] = [];
        const expected: NativeLine[] = [];
        let line = 0;
        for (const { from, native, at, skipped } of said) {
          line += skipped === 2 ? 2 : 1;
          lines.push({ line, at, from, text: JSON.stringify(native) });
          expected.push({ line, time: new Date(at).toISOString(), from, native });
        }
        expect(codec.decodeNative(encodeNative(lines))).toEqual(expected);
      }),
    );
  });

  test("what a line shares with the one before it is stored once", () => {
    const bytes = encodeNative([
      { line: 1, at: 5, from: "agent", text: '{"type":"delta","text":"Hel"}' },
      { line: 2, at: 17, from: "agent", text: '{"type":"delta","text":"lo"}' },
    ]);
    expect(Buffer.from(bytes).toString().split("\n")[1]).toBe('a12,24,lo"}');
  });
});

test("numbers are written digit by digit, and the room grows with what is put into it", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(), fc.maxSafeNat(), fc.string({ unit: "binary" }))), (pieces) => {
      const written = openLineWriter(newScratch());
      for (const piece of pieces) {
        if (typeof piece === "number") written.integer(piece);
        else written.text(piece.repeat(1000));
      }
      const expected = pieces.map((piece) => Buffer.from(typeof piece === "number" ? `${piece}` : piece.repeat(1000)));
      expect(written.finish().equals(Buffer.concat(expected))).toBe(true);
    }),
  );
});
