/**
 * The hand-written guard of a dialect and the zod schema beside it agree, on every recorded line and on garbled ones.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type * as z from "zod";
import { isTakopiEvent } from "../../src/dialects/takopi.ts";
import { TakopiEvent } from "../../src/dialects/takopi-schema.ts";
import { replaceIn } from "../support/disturb.ts";
import { root, transcripts } from "../support/transcripts.ts";

interface Dialect {
  readonly name: string;
  readonly guard: (value: unknown) => boolean;
  readonly schema: z.ZodType | null;
}

const isGuard = (value: unknown): value is Dialect["guard"] => typeof value === "function";
const isSchema = (value: unknown): value is z.ZodType =>
  typeof value === "object" && value !== null && "safeParse" in value;

/**
 * By their names: `isAcmeLine` is the guard, `AcmeLine` or `AcmeLineSchema` the schema. A new dialect is found by
 * itself.
 */
const dialects = await findDialects();

const lines = transcripts.flatMap(({ name, recording }) =>
  recording.flatMap((entry) => (entry.type === "line" ? [{ name, line: entry.line }] : [])),
);

describe.each(dialects)("$name", ({ guard, schema }) => {
  test("guard and schema agree on every recorded line, of every agent", () => {
    if (schema === null) throw new Error("the guard has no schema beside it");
    const different = lines.filter(({ line }) => guard(line) !== schema.safeParse(line).success);
    expect(different).toEqual([]);
  });

  test("and on lines of which a field is something else", () => {
    if (schema === null) throw new Error("the guard has no schema beside it");
    const own = lines.filter(({ line }) => guard(line));
    const change = fc.record({
      chosen: fc.constantFrom(...own),
      path: fc.array(fc.nat(), { minLength: 1, maxLength: 5 }),
      value: fc.constantFrom(undefined, null, "", 0, true, [], {}),
    });
    fc.assert(
      fc.property(change, ({ chosen, path, value }) => {
        const line = replaceIn(chosen.line, path, value);
        expect({ fits: guard(line) }).toEqual({ fits: schema.safeParse(line).success });
      }),
      { numRuns: Number(process.env.FC_RUNS ?? 400), seed: Number(process.env.FC_SEED ?? 1) },
    );
  });
});

test("dialects are found", () => {
  expect(dialects.map(({ name }) => name)).toContain("Mock");
});

async function findDialects(): Promise<Dialect[]> {
  const folder = join(root, "src", "dialects");
  const modules: object[] = await Promise.all(readdirSync(folder).map((file) => import(join(folder, file))));
  const exported = new Map<string, unknown>(modules.flatMap((module) => Object.entries(module)));
  return [...exported].flatMap(([key, guard]) => {
    const name = /^is(\w+)Line$/.exec(key)?.[1];
    if (name === undefined || !isGuard(guard)) return [];
    const schema = [exported.get(`${name}LineSchema`), exported.get(`${name}Line`)].find(isSchema) ?? null;
    return [{ name, guard, schema }];
  });
}

test("Takopi's guard and schema agree on every line that we render, and where a field is something else", () => {
  const rendered = transcripts.flatMap(({ folder }) => {
    const file = join(folder, "takopi.jsonl");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  });
  const kinds = new Map(rendered.map((text) => [text.replaceAll(/"[^"]*"(?!:)|\d+/g, ""), text]));
  expect(kinds.size).toBeGreaterThan(20);
  const different: unknown[] = [];
  const step = Math.ceil(kinds.size / 80);
  for (const text of [...kinds.values()].filter((_, index) => index % step === 0)) {
    const line: unknown = JSON.parse(text);
    const places = [[], ...Array.from({ length: 8 }, (_, at) => [[at], [at, 0], [at, 1], [at, 2]]).flat()];
    for (const place of places) {
      for (const value of [undefined, null, "", 0, true, [], {}]) {
        const changed = place.length === 0 ? line : replaceIn(line, place, value);
        if (isTakopiEvent(changed) !== TakopiEvent.safeParse(changed).success) different.push(changed);
      }
    }
  }
  expect(different).toEqual([]);
});
