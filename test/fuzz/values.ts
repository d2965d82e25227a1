/** Hostile values for whatever reads something: recorded lines with a part replaced, and things nobody would send. */
import fc from "fast-check";
import { replaceIn } from "../support/disturb.ts";
import { transcripts } from "../support/transcripts.ts";

/** How many values each property tries, and from which seed: `npm run fuzz` tries more. */
export const bounds = {
  numRuns: Number(process.env.FUZZ_RUNS ?? 100),
  seed: Number(process.env.FUZZ_SEED ?? 1),
};

export const recordedLines: readonly unknown[] = transcripts.flatMap(({ recording }) =>
  recording.flatMap((entry) => (entry.type === "line" ? [entry.line] : [])),
);

function nested(depth: number): unknown {
  let value: unknown = "core";
  for (let at = 0; at < depth; at += 1) value = at % 2 === 0 ? [value] : { content: value };
  return value;
}

/** Keys that are something on every object, and values that other languages would not call such. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, "", 0, -1, 1e308, Number.NaN, true, [], {}, [[]], "\u2028\ud800"),
  fc.constantFrom("constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"),
  fc.constantFrom<unknown>(
    JSON.parse('{"__proto__":{"type":"result"}}'),
    { constructor: { name: 1 }, toString: 1, hasOwnProperty: null },
    { type: "__proto__", method: "constructor", role: "toString" },
    { length: 1e9 },
    nested(60),
    "x".repeat(10_000),
  ),
  fc.jsonValue({ maxDepth: 4 }),
);

/** A recorded line of which one part, at any depth, is something else. */
export const changedLine: fc.Arbitrary<unknown> = fc
  .record({
    line: fc.constantFrom(...recordedLines),
    path: fc.array(fc.nat(), { maxLength: 6 }),
    part: odd,
  })
  .map(({ line, path, part }) => replaceIn(line, path, part));

export const anyLine: fc.Arbitrary<unknown> = fc.oneof({ weight: 4, arbitrary: changedLine }, odd);

export { odd };

/** Bytes of which some are changed, cut out or doubled. */
export const damaged = (bytes: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }), how: fc.constantFrom("set", "cut", "double") }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((changes) => {
      let out = Buffer.from(bytes);
      for (const { at, byte, how } of changes) {
        const place = at % Math.max(1, out.length);
        if (how === "set" && out.length > 0) out[place] = byte;
        else if (how === "cut") out = Buffer.concat([out.subarray(0, place), out.subarray(place + (byte % 16))]);
        else out = Buffer.concat([out.subarray(0, place), out.subarray(Math.max(0, place - (byte % 16)))]);
      }
      return out;
    });
