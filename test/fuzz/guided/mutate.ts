/** Inputs made of other inputs: bytes, lines and values of JSON are changed, cut, doubled, moved and spliced. */
import type { Random } from "../../faults/random.ts";
import {
  changeJson,
  countNodes,
  editNode,
  type Json,
  type Material,
  oddValues,
  readJson,
  wordOf,
} from "./json-edits.ts";

/** What an input is made of: anything, or lines of which most are JSON. */
export type Form = "bytes" | "lines";

/** Longer inputs only take longer. */
const MOST_BYTES = 64 * 1024;

export function mutate(
  random: Random,
  input: Buffer,
  { form, ...material }: Material & { readonly form: Form },
): Buffer {
  let out = input;
  do {
    const how = random.integer(10);
    if (form === "bytes" ? how < 7 : how < 1) out = changeBytes(random, out, material);
    else if (how < 3) out = changeLines(random, out, material);
    else out = changeLine(random, out, material);
  } while (random.chance(0.5));
  return out.subarray(0, MOST_BYTES);
}

const join = (...parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));

const EDGES = [0, 1, 9, 10, 13, 32, 34, 44, 45, 47, 48, 58, 92, 123, 125, 127, 128, 192, 226, 240, 255] as const;

function changeBytes(random: Random, input: Buffer, material: Material): Buffer {
  const at = random.integer(input.length + 1);
  const [before, after] = [input.subarray(0, at), input.subarray(at)];
  const few = after.subarray(0, random.between(1, 16));
  switch (random.integer(9)) {
    case 0:
      return join(before, Buffer.from([(after[0] ?? 0) ^ (1 << random.integer(8))]), after.subarray(1));
    case 1:
      return join(before, Buffer.from([random.pick(EDGES)]), after.subarray(1));
    case 2:
      return join(before, Buffer.from([random.integer(256)]), after);
    case 3:
      return join(before, wordOf(random, material), after);
    case 4:
      return join(before, after.subarray(few.length));
    case 5:
      return join(before, few, after);
    case 6:
      return join(before, after.subarray(0, random.integer(after.length + 1)), after);
    case 7: {
      const other = material.other();
      return join(before, other.subarray(random.integer(other.length + 1)));
    }
    default: {
      const other = material.other();
      const start = random.integer(other.length + 1);
      return join(before, other.subarray(start, start + random.between(1, 64)), after);
    }
  }
}

const linesOf = (input: Buffer): readonly string[] => input.toString("utf8").split("\n");
const ofLines = (lines: readonly string[]): Buffer => Buffer.from(lines.join("\n"));

function changeLines(random: Random, input: Buffer, { other }: Material): Buffer {
  const lines = linesOf(input);
  const at = random.integer(lines.length);
  const [before, line = "", after] = [lines.slice(0, at), lines[at], lines.slice(at + 1)];
  switch (random.integer(7)) {
    case 0:
      return ofLines([...before, ...after]);
    case 1:
      return ofLines([...before, line, line, ...after]);
    case 2:
      return ofLines([...before, ...after.slice(0, 1), line, ...after.slice(1)]);
    case 3:
      return ofLines([...before, line]);
    case 4: {
      const others = linesOf(other());
      return ofLines([...before, others[random.integer(others.length)] ?? "", line, ...after]);
    }
    case 5: {
      const others = linesOf(other());
      return ofLines([...before, ...others.slice(random.integer(others.length))]);
    }
    default: {
      const place = random.integer(lines.length);
      const rest = [...before, ...after];
      return ofLines([...rest.slice(0, place), line, ...rest.slice(place)]);
    }
  }
}

/** A value in one line, or the text of the line where it is no JSON. */
function changeLine(random: Random, input: Buffer, material: Material): Buffer {
  const lines = [...linesOf(input)];
  const at = random.integer(lines.length);
  const read = readJson(lines[at] ?? "");
  if (read === null) return changeBytes(random, input, material);
  lines[at] = JSON.stringify(changeJson(random, read.value, material));
  return ofLines(lines);
}

/** The input with something in it repeated; null where there is nothing to repeat. */
export function growing(random: Random, input: Buffer, form: Form): ((times: number) => Buffer) | null {
  if (form === "bytes" && random.chance(0.5)) {
    const start = random.integer(input.length + 1);
    const end = Math.min(input.length, start + random.between(1, 32));
    if (start === end) return null;
    const [before, piece, after] = [input.subarray(0, start), input.subarray(start, end), input.subarray(end)];
    return (times) => join(before, Buffer.concat(Array.from({ length: times }, () => piece)), after);
  }
  const lines = linesOf(input);
  const at = random.integer(lines.length);
  const line = lines[at] ?? "";
  const read = readJson(line);
  const around = (grown: readonly string[]): Buffer =>
    ofLines([...lines.slice(0, at), ...grown, ...lines.slice(at + 1)]);
  if (read === null || random.chance(0.3)) return (times) => around(Array.from({ length: times }, () => line));
  const node = random.integer(countNodes(read.value));
  return (times) => around([JSON.stringify(editNode(read.value, node, (value) => repeated(value, times)) ?? null)]);
}

function repeated(value: Json, times: number): Json {
  if (typeof value === "string") return (value === "" ? "x" : value.slice(0, 64)).repeat(times);
  if (typeof value !== "object" || value === null) return Array.from({ length: times }, () => value);
  if (Array.isArray(value)) return Array.from({ length: times }, () => value.slice(0, 4)).flat();
  const entries = Object.entries(value).slice(0, 4);
  const copies = Array.from({ length: times }, (_, copy) => entries.map(([name, inner]) => [`${name}${copy}`, inner]));
  return { ...value, ...Object.fromEntries(copies.flat()) };
}

/** Smaller inputs than this one, those that leave out most first. */
export function* smaller(input: Buffer, form: Form): Generator<Buffer> {
  const lines = linesOf(input);
  const isText = Buffer.from(input.toString("utf8")).equals(input);
  if (isText && lines.length > 1) {
    for (let size = lines.length >> 1; size > 0; size >>= 1) {
      for (let at = 0; at < lines.length; at += size) yield ofLines([...lines.slice(0, at), ...lines.slice(at + size)]);
    }
  }
  if (isText) for (const [at, line] of lines.entries()) yield* smallerLine(lines, at, line);
  if (form === "lines" && isText && lines.every((line) => readJson(line) !== null)) return;
  for (let size = input.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < input.length; at += size) yield join(input.subarray(0, at), input.subarray(at + size));
  }
}

/** Plain values, for what a value is without meaning for. */
const PLAIN: readonly Json[] = [null, "", 0];

function* smallerLine(lines: readonly string[], at: number, line: string): Generator<Buffer> {
  const read = readJson(line);
  if (read === null) return;
  const count = countNodes(read.value);
  for (let node = 0; node < count; node += 1) {
    for (const plain of [undefined, ...PLAIN]) {
      const text = JSON.stringify(editNode(read.value, node, () => plain));
      if (text === undefined || text.length >= line.length) continue;
      yield ofLines([...lines.slice(0, at), text, ...lines.slice(at + 1)]);
    }
  }
}

/** Inputs for a target that has none, so that something can be changed. */
export const firstInputs: readonly Buffer[] = oddValues.slice(0, 4).map((value) => Buffer.from(JSON.stringify(value)));
