/** Changes to one place of a JSON value, drawn at random: other values, other names, other types, other depths. */
import type { Random } from "../../faults/random.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** What mutations take from: words of the sources, and other inputs. */
export interface Material {
  readonly words: readonly string[];
  readonly other: () => Buffer;
}

const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const parsed = (text: string): Json => JSON.parse(text);

/** The value, or null where the text is not JSON, or too much of it. */
export function readJson(text: string): { readonly value: Json } | null {
  if (text.length > MOST_TEXT) return null;
  try {
    return { value: parsed(text) };
  } catch {
    return null;
  }
}

const MOST_TEXT = 64 * 1024;

function nested(depth: number): Json {
  let value: Json = "core";
  for (let at = 0; at < depth; at += 1) value = at % 2 === 0 ? [value] : { content: value };
  return value;
}

/** At the edges of numbers, times, texts and types, and names that every object has. */
export const oddValues: readonly [Json, ...Json[]] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  0.5,
  2 ** 31,
  2 ** 53,
  8.64e15 + 1,
  1e308,
  -1e308,
  "",
  " ",
  "0",
  "-1",
  "\u2028\ud800",
  "🙂",
  "constructor",
  "__proto__",
  "toString",
  "hasOwnProperty",
  "2026-13-40T99:99:99Z",
  "+275761-01-01T00:00:00Z",
  "../../..",
  "/",
  "data:;base64,",
  "http://[::1]:1/",
  "x".repeat(5_000),
  [],
  {},
  [[]],
  [null],
  [{}],
  { length: 1e9 },
  { type: "__proto__", method: "constructor", role: "toString", id: null },
  parsed('{"__proto__":{"type":"result"}}'),
  nested(60),
];

/** Every value in the value, itself first. */
function* nodesOf(value: Json): Generator<Json> {
  yield value;
  if (isList(value)) for (const inner of value) yield* nodesOf(inner);
  else if (isObject(value)) for (const inner of Object.values(value)) yield* nodesOf(inner);
}

export const countNodes = (value: Json): number => [...nodesOf(value)].length;

/** A value with the node of this number (itself is 0) replaced; left out where the change gives nothing. */
export function editNode(root: Json, number: number, edit: (node: Json) => Json | undefined): Json | undefined {
  let left = number;
  const walk = (node: Json): Json | undefined => {
    if (left-- === 0) return edit(node);
    if (left < 0) return node;
    if (isList(node)) return node.flatMap((inner) => kept(walk(inner)));
    if (!isObject(node)) return node;
    return Object.fromEntries(
      Object.entries(node).flatMap(([name, inner]) => kept(walk(inner)).map((value) => [name, value])),
    );
  };
  return walk(root);
}

const kept = (value: Json | undefined): readonly Json[] => (value === undefined ? [] : [value]);

/** One change at one place. */
export function changeJson(random: Random, value: Json, material: Material): Json {
  return editNode(value, random.integer(countNodes(value)), (node) => changeNode(random, node, material)) ?? null;
}

function changeNode(random: Random, node: Json, material: Material): Json | undefined {
  if (random.chance(0.5)) {
    if (isObject(node)) return changeObject(random, node, material);
    if (isList(node)) return changeList(random, node, material);
    if (typeof node === "string") return changeText(random, node, material);
    if (typeof node === "number") return changeNumber(random, node);
  }
  switch (random.integer(8)) {
    case 0:
      return undefined;
    case 1:
      return random.chance(0.5) ? [node] : { [wordOf(random, material)]: node };
    case 2:
    case 3:
      return wordOf(random, material);
    case 4:
    case 5:
      return borrowed(random, material);
    default:
      return random.pick(oddValues);
  }
}

type JsonObject = { readonly [name: string]: Json };

function changeObject(random: Random, node: JsonObject, material: Material): Json {
  const entries = Object.entries(node);
  const chosen = random.integer(Math.max(1, entries.length));
  const [name = "", value = null] = entries[chosen] ?? [];
  const others = entries.filter((_, index) => index !== chosen);
  switch (random.integer(6)) {
    case 0:
      return Object.fromEntries(others);
    case 1:
      return Object.fromEntries([...others, [wordOf(random, material), value]]);
    case 2:
      return Object.fromEntries([...entries, [wordOf(random, material), borrowed(random, material)]]);
    case 3:
      return Object.fromEntries([...entries, [wordOf(random, material), random.pick(oddValues)]]);
    case 4:
      return Object.fromEntries([...others, [name, borrowed(random, material)]]);
    default:
      return value;
  }
}

function changeList(random: Random, node: readonly Json[], material: Material): Json {
  const at = random.integer(node.length + 1);
  const [before, after] = [node.slice(0, at), node.slice(at)];
  switch (random.integer(5)) {
    case 0:
      return [...before, ...after.slice(1)];
    case 1:
      return [...before, ...after.slice(0, 1), ...after];
    case 2:
      return [...before, borrowed(random, material), ...after];
    case 3:
      return [...after, ...before];
    default:
      return node[at] ?? null;
  }
}

function changeText(random: Random, node: string, material: Material): Json {
  const at = random.integer(node.length + 1);
  switch (random.integer(6)) {
    case 0:
      return node.slice(0, at);
    case 1:
      return node.slice(0, at) + wordOf(random, material) + node.slice(at);
    case 2:
      return node + node;
    case 3:
      return Number(node);
    case 4:
      return node.slice(0, at) + random.pick(PIECES) + node.slice(at + random.integer(2));
    default:
      return node.repeat(random.between(2, 40)).slice(0, 10_000);
  }
}

const PIECES = ["\n", "\0", '"', "\\", "/", "..", "\ud83d", "%", "{}", " ", "0", "-", ":", "[", "\u2028"] as const;

function changeNumber(random: Random, node: number): Json {
  const edges = [node + 1, node - 1, -node, -1, node * 1_000, node / 3, 0, 2 ** 31, 2 ** 53, 8.64e15 + 1] as const;
  return random.chance(0.2) ? String(node) : random.pick(edges);
}

export function wordOf(random: Random, { words }: Material): string {
  return words[random.integer(Math.max(1, words.length))] ?? "x";
}

/** A value out of another input. */
function borrowed(random: Random, { other }: Material): Json {
  const lines = other().toString("utf8").split("\n");
  const read = readJson(lines[random.integer(lines.length)] ?? "");
  if (read === null) return random.pick(oddValues);
  const nodes = [...nodesOf(read.value)];
  return nodes[random.integer(nodes.length)] ?? null;
}
