/** What may happen to a recording on its way: cut, repeated, out of order, mixed with garbage. As fast-check values. */
import fc from "fast-check";
import type { Recorded } from "../../src/dialects/recording.ts";
import type { Transcript } from "./transcripts.ts";

export interface Disturbed {
  readonly name: string;
  readonly recording: readonly Recorded[];
}

export type Disturbance = (transcripts: readonly Transcript[]) => fc.Arbitrary<Disturbed>;

type Change = (recording: readonly Recorded[]) => fc.Arbitrary<readonly Recorded[]>;

const disturb =
  (change: Change): Disturbance =>
  (transcripts) =>
    fc
      .constantFrom(...transcripts)
      .chain(({ name, recording }) => change(recording).map((changed) => ({ name, recording: changed })));

/** Each in words that complete the sentence "however a stream is …". */
export const disturbances: readonly { readonly how: string; readonly arbitrary: Disturbance }[] = [
  { how: "cut", arbitrary: disturb(cut) },
  { how: "cut out of its middle", arbitrary: disturb(cutOut) },
  { how: "doubled", arbitrary: disturb(double) },
  { how: "shuffled", arbitrary: disturb(shuffle) },
  { how: "filled with garbage", arbitrary: disturb(fill) },
  { how: "garbled in single fields", arbitrary: disturb(garble) },
  { how: "played twice", arbitrary: disturb((recording) => fc.constant([...recording, ...recording])) },
];

const placeIn = (recording: readonly Recorded[]): fc.Arbitrary<number> => fc.nat({ max: recording.length });

function cut(recording: readonly Recorded[]): fc.Arbitrary<readonly Recorded[]> {
  return placeIn(recording).map((end) => recording.slice(0, end));
}

function cutOut(recording: readonly Recorded[]): fc.Arbitrary<readonly Recorded[]> {
  return fc.tuple(placeIn(recording), placeIn(recording)).map(([one, other]) => {
    const [start, end] = [Math.min(one, other), Math.max(one, other)];
    return [...recording.slice(0, start), ...recording.slice(end)];
  });
}

function double(recording: readonly Recorded[]): fc.Arbitrary<readonly Recorded[]> {
  return fc
    .array(fc.boolean(), { minLength: recording.length, maxLength: recording.length })
    .map((again) => recording.flatMap((line, index) => (again[index] === true ? [line, line] : [line])));
}

/** Neighbours change places, some of them several times over. */
function shuffle(recording: readonly Recorded[]): fc.Arbitrary<readonly Recorded[]> {
  return fc.array(placeIn(recording), { maxLength: recording.length }).map((places) => {
    const out = [...recording];
    for (const place of places) {
      const [one, other] = [out[place], out[place + 1]];
      if (one !== undefined && other !== undefined) out.splice(place, 2, other, one);
    }
    return out;
  });
}

const garbage: fc.Arbitrary<Recorded> = fc.oneof(
  fc.jsonValue().map((line) => ({ type: "line" as const, from: "agent" as const, line, at: null })),
  fc.string().map((text) => ({ type: "unreadable" as const, text, error: "Not JSON", at: null })),
);

function fill(recording: readonly Recorded[]): fc.Arbitrary<readonly Recorded[]> {
  return fc.array(fc.tuple(placeIn(recording), garbage), { maxLength: 20 }).map((inserts) => {
    const out = [...recording];
    for (const [place, line] of inserts) out.splice(place, 0, line);
    return out;
  });
}

/** Fields of some lines are replaced by something else or removed. */
function garble(recording: readonly Recorded[]): fc.Arbitrary<readonly Recorded[]> {
  const change = fc.record({
    place: placeIn(recording),
    path: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
    value,
  });
  return fc.array(change, { minLength: 1, maxLength: 10 }).map((changes) => {
    const out = [...recording];
    for (const { place, path, value: replacement } of changes) {
      const entry = out[place];
      if (entry?.type === "line") out[place] = { ...entry, line: replaceIn(entry.line, path, replacement) };
    }
    return out;
  });
}

const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(undefined),
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom("", 0, -1, null),
);

/** The path is made of numbers, each of which chooses one of the fields there are. */
export function replaceIn(target: unknown, path: readonly number[], replacement: unknown): unknown {
  const [choice, ...rest] = path;
  if (choice === undefined || typeof target !== "object" || target === null) return replacement;
  const keys = Object.keys(target);
  const key = keys[choice % Math.max(keys.length, 1)];
  if (key === undefined) return replacement;
  const changed = Object.entries(target).flatMap(([name, inner]) => {
    const next = name === key ? replaceIn(inner, rest, replacement) : inner;
    return next === undefined ? [] : [[name, next] as const];
  });
  return Array.isArray(target) ? changed.map(([, inner]) => inner) : Object.fromEntries(changed);
}
