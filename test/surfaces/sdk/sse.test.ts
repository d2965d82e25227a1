/** The stream parser: however the bytes are cut, the same events come out. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openParser, type ServerSentEvent } from "../../../src/sdk/sse.ts";

const parse = (pieces: readonly string[]): ServerSentEvent[] => pieces.flatMap(openParser());

test("frames, comments, ids alone, carriage returns, and a cut last frame", () => {
  const text = ': hello\n\nid: 1\ndata: {"a":1}\n\nid: 7.3\n\r\ndata:two\r\ndata: lines\r\n\r\nid: 9\ndata: never';
  expect(parse([text])).toEqual([
    { id: "1", data: '{"a":1}' },
    { id: "7.3", data: null },
    { id: null, data: "two\nlines" },
  ]);
});

test("wherever the text is cut, nothing is lost, doubled or changed", () => {
  const event = fc.record({ id: fc.nat(), data: fc.json() });
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.nat(), { maxLength: 8 }), (events, places) => {
      const text = events.map(({ id, data }) => `id: ${id}\ndata: ${data}\n\n`).join(": beat\n\n");
      const cuts = [0, ...places.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length];
      const pieces = cuts.slice(1).map((end, index) => text.slice(cuts[index], end));
      expect(parse(pieces)).toEqual(events.map(({ id, data }) => ({ id: String(id), data })));
    }),
  );
});
