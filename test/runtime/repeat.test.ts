/**
 * The short way for lines like the one before (core/repeat.ts) stores the same bytes as the full way: over recordings
 * of every adapter that declares such lines, in any groups, and over lines that were changed in every way that might
 * look the same and is not.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import { defaultPolicy, type Effect } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import type { Recorded } from "../../src/dialects/recording.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { encodeSnapshot } from "../../src/runtime/log/checkpoints.ts";
import { openCodec } from "../../src/runtime/log/codec/codec.ts";
import { openRedactor } from "../../src/runtime/redact.ts";
import { openRecorder, startRecordState } from "../../src/runtime/session/record.ts";
import { stepInput, stepLines } from "../../src/runtime/session/step-entry.ts";
import { transcriptsOf } from "../support/transcripts.ts";

const repeating = adapters.filter((adapter) => adapter.open().deltas !== null);
const SECRET = "a-secret-that-is-held";

/** Lines that arrive together; `host` for a line of ours in a recording. */
interface Arrival {
  readonly at: number;
  readonly text: string;
  readonly host: boolean;
}

interface Stored {
  readonly groups: readonly string[];
  readonly native: readonly unknown[];
  readonly snapshot: string;
  readonly repeated: number;
}

/** Steps all arrivals as the writer does, a group after every few of them. */
function store(adapter: Adapter, arrivals: readonly Arrival[], { short, groups }: { short: boolean; groups: number }) {
  const id = sessionId("s");
  const inFull: Adapter = { ...adapter, open: () => ({ ...adapter.open(), deltas: null }) };
  const session = openSession({
    sessionId: id,
    adapter: short ? adapter : inFull,
    policy: defaultPolicy,
    connected: true,
  });
  const redactor = openRedactor({ token: SECRET });
  const codec = openCodec();
  const state = startRecordState(session.snapshot());
  const stored: { groups: string[]; native: unknown[]; repeated: number } = { groups: [], native: [], repeated: 0 };
  const settings = { create: { agent: adapter.agent }, forkOf: null };
  for (let first = 0; first < arrivals.length; first += groups) {
    const recorder = openRecorder({
      id,
      settings,
      snapshot: session.snapshot,
      redactor,
      state,
      writer: codec.openWriter(),
    });
    const effects: Effect[] = [];
    const counting = {
      ...recorder,
      repeat(repeated: Parameters<typeof recorder.repeat>[0]) {
        stored.repeated += 1;
        recorder.repeat(repeated);
      },
    };
    for (const { at, text, host } of arrivals.slice(first, first + groups)) {
      const stepping = { session, recorder: counting, redactor, effects };
      if (host) {
        const input = { type: "line", from: "host", line: JSON.parse(text), at } as const;
        stepInput(stepping, { input, origin: null, size: 0, check: null, done: null });
        continue;
      }
      const entry = { text, next: 0, at, hasSecrets: redactor.touches(text), size: 0 };
      stepLines(stepping, { entry, groupBytes: Number.POSITIVE_INFINITY });
    }
    const append = recorder.finish();
    if (append?.events != null) stored.groups.push(Buffer.from(append.events.bytes).toString("utf8"));
    if (append?.native != null) stored.native.push(...codec.decodeNative(append.native.bytes));
  }
  return { ...stored, snapshot: encodeSnapshot(session.snapshot()) };
}

function expectSame(adapter: Adapter, arrivals: readonly Arrival[], groups: number): number {
  const { repeated, ...short } = store(adapter, arrivals, { short: true, groups });
  const { repeated: none, ...full } = store(adapter, arrivals, { short: false, groups });
  expect(none).toBe(0);
  expect(short).toEqual(full satisfies Omit<Stored, "repeated">);
  return repeated;
}

/** The lines of a recording as they were written; what was no JSON stays out. */
const arrivalsOf = (recording: readonly Recorded[]): Arrival[] =>
  recording.flatMap((entry) =>
    entry.type === "line"
      ? [{ at: 1_000 + (entry.at ?? 0), text: JSON.stringify(entry.line), host: entry.from === "host" }]
      : [],
  );

const search = { numRuns: Number(process.env.FC_RUNS ?? 60), seed: Number(process.env.FC_SEED ?? 1) };
const VALUE = /("(?:text|delta|thinking)":)("(?:[^"\\]|\\.)*")/;
const OTHER = /("(?:uuid|emittedAtMs)":)("[^"]*"|\d+)/;

/** Texts as an agent writes them, and strings that only look like one. */
const literal = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "binary", maxLength: 40 }).map((text) => JSON.stringify(text)) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom("a", "Hello", " world", "\n", '"', "\\", "é", "日本", "\u2028")
      .map((text) => JSON.stringify(text)),
  },
  fc.constantFrom(
    '"\\/"',
    '"\\u00e9"',
    '"\\ud800"',
    '"\\x"',
    '"\t"',
    '"\u0001 long enough to be parsed"',
    '"a" ,"b":"c"',
    '""',
    "null",
    "1",
    '{"a":"b"}',
    `"${SECRET}"`,
    '"x","text":"y"',
  ),
);
const other = fc.constantFrom(
  '"one"',
  '"two"',
  '"\\u0061"',
  '"\t"',
  "1",
  "12345",
  "012",
  "1.5",
  "-1",
  "1e3",
  "12345678901234567890",
  "null",
);

/** One delta, said again with other values; or with a letter changed, or cut. */
const again = (line: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: literal.map((text) => line.replace(VALUE, (_, key: string) => key + text)) },
    {
      weight: 8,
      arbitrary: fc
        .tuple(literal, fc.uuid(), fc.nat())
        .map(([text, uuid, ms]) =>
          line
            .replace(VALUE, (_, key: string) => key + text)
            .replace(OTHER, (_, key: string, value: string) => key + (value.startsWith('"') ? `"${uuid}"` : ms)),
        ),
    },
    { weight: 2, arbitrary: other.map((value) => line.replace(OTHER, (_, key: string) => key + value)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.nat({ max: line.length - 1 }), fc.string({ unit: "binary", minLength: 0, maxLength: 2 }))
        .map(([at, letters]) => line.slice(0, at) + letters + line.slice(at + 1)),
    },
    fc.nat({ max: line.length }).map((end) => line.slice(0, end)),
    fc.constantFrom(line, ` ${line}`, `${line} `, "", "  "),
  );

/** A recording in which deltas are said again and again, in lines that arrive alone or together. */
function flooded(recordings: readonly (readonly Arrival[])[]): fc.Arbitrary<readonly Arrival[]> {
  const isDelta = ({ text, host }: Arrival): boolean => !host && VALUE.test(text) && /delta/i.test(text);
  const speaking = recordings.filter((arrivals) => arrivals.some(isDelta));
  return fc.constantFrom(...speaking).chain((arrivals) => {
    const deltas = arrivals.filter(isDelta);
    return fc.constantFrom(...deltas).chain((chosen) => {
      const more = fc.array(fc.tuple(again(chosen.text), fc.nat({ max: 3 }), fc.boolean()), {
        minLength: 1,
        maxLength: 30,
      });
      return more.map((said) => {
        const copies: { at: number; text: string; host: boolean }[] = [{ ...chosen }];
        for (const [text, ms, together] of said) {
          const last = copies.at(-1);
          if (together && last !== undefined) last.text += `\n${text}`;
          else copies.push({ at: (last?.at ?? 0) + ms, text, host: false });
        }
        const at = arrivals.indexOf(chosen);
        return [...arrivals.slice(0, at), ...copies, ...arrivals.slice(at + 1)];
      });
    });
  });
}

test("some adapters declare lines that repeat", () => {
  expect(repeating.map(({ agent }) => agent)).toEqual(expect.arrayContaining(["claude", "codex", "mock"]));
});

describe.each(repeating)("$agent", (adapter) => {
  const recordings = transcriptsOf(adapter).map(({ recording }) => arrivalsOf(recording));

  test.each([1, 7, 1_000])("stores all recordings as the full way does, in groups of %i", (groups) => {
    let repeated = 0;
    for (const arrivals of recordings) repeated += expectSame(adapter, arrivals, groups);
    expect(repeated).toBeGreaterThan(0);
  });

  test("stores deltas that are said again with other values as the full way does", () => {
    let repeated = 0;
    const runs = fc.property(flooded(recordings), fc.integer({ min: 1, max: 40 }), (arrivals, groups) => {
      repeated += expectSame(adapter, arrivals, groups);
    });
    fc.assert(runs, search);
    expect(repeated).toBeGreaterThan(search.numRuns);
  });
});
