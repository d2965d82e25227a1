/** What transcripts/builtin holds is what the agent says today; and its guard and its schema mean the same. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isBuiltinHeard, isBuiltinLine } from "../../../src/dialects/builtin.ts";
import { BuiltinHears, BuiltinSays } from "../../../src/dialects/builtin-schema.ts";
import { builtinRecordings } from "../../support/builtin-recordings.ts";
import { expectGolden, jsonLines, updating } from "../../support/golden.ts";
import { recordBuiltin } from "../../support/record-builtin.ts";
import { transcripts, transcriptsFolder } from "../../support/transcripts.ts";

const VERSION = "0.1.0";

test.each(builtinRecordings)("$name", async (recording) => {
  const folder = join(transcriptsFolder, "builtin", recording.name);
  if (updating) {
    mkdirSync(folder, { recursive: true });
    const about = { agent: "builtin", version: VERSION, ...recording.about };
    writeFileSync(join(folder, "about.json"), `${JSON.stringify(about, null, 2)}\n`);
  }
  const lines = await recordBuiltin(recording, { version: VERSION });
  expectGolden(join(folder, "native.jsonl"), jsonLines(lines));
});

const recorded = transcripts
  .filter(({ about }) => about.agent === "builtin")
  .flatMap(({ recording }) => recording)
  .flatMap((one) => (one.type === "line" ? [one.line] : []));

const fits = (line: unknown): boolean => BuiltinSays.safeParse(line).success || BuiltinHears.safeParse(line).success;

test("every recorded line passes the guard and the schema", () => {
  expect(recorded.length).toBeGreaterThan(100);
  for (const line of recorded) {
    expect(isBuiltinLine(line)).toBe(true);
    expect(fits(line)).toBe(true);
  }
});

test("every kind of line is recorded", () => {
  const kinds = new Set(recorded.map((line) => (isBuiltinLine(line) ? line.type : "?")));
  const known = [...BuiltinSays.options, ...BuiltinHears.options].map((option) => option.shape.type.value);
  expect(known.filter((kind) => !kinds.has(kind))).toEqual([]);
});

test("guard and schema agree on lines that are slightly wrong", () => {
  const mutation = fc.record({
    line: fc.constantFrom(...recorded),
    field: fc.nat(12),
    value: fc.constantFrom<unknown>(undefined, null, 7, "words", true, [], {}, [null], [{ id: 1 }]),
  });
  fc.assert(
    fc.property(mutation, ({ line, field, value }) => {
      if (typeof line !== "object" || line === null) return;
      const names = Object.keys(line);
      const changed = { ...line, [names[field % names.length] ?? "type"]: value };
      expect(isBuiltinLine(changed), JSON.stringify(changed)).toBe(fits(changed));
    }),
    { numRuns: 2_000 },
  );
});

test("what is heard is told from what is said", () => {
  const heard = recorded.filter((line) => isBuiltinLine(line) && isBuiltinHeard(line));
  expect(heard.every((line) => BuiltinHears.safeParse(line).success)).toBe(true);
});
