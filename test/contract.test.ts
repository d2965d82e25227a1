/** What every adapter keeps, whatever its agent does. A new adapter is covered as soon as it is in the table. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adapters } from "../src/adapters/index.ts";
import { convertLines } from "../src/core/convert.ts";
import type { UniversalEvent } from "../src/protocol/events.ts";
import { lint, universal } from "../src/rules/index.ts";
import { disturbances } from "./support/disturb.ts";
import { transcriptsOf } from "./support/transcripts.ts";

/** The same cases every time; FC_RUNS and FC_SEED look further. */
const search = { numRuns: Number(process.env.FC_RUNS ?? 40), seed: Number(process.env.FC_SEED ?? 1) };

describe.each(adapters)("$agent", (adapter) => {
  const transcripts = transcriptsOf(adapter);

  test("is recorded", () => {
    expect(transcripts.length).toBeGreaterThan(0);
  });

  test("the same input gives the same bytes", () => {
    for (const { recording } of transcripts) {
      expect(JSON.stringify(convertLines(adapter, recording))).toBe(JSON.stringify(convertLines(adapter, recording)));
    }
  });

  test("is recognised by its own lines, and by no other agent's", () => {
    for (const { name, recording } of transcripts) {
      const lines = recording.flatMap((entry) => (entry.type === "line" ? [entry.line] : []));
      const first = lines.find((line) => adapters.some((each) => each.recognises(line)));
      // A recording may be too short to tell.
      if (first === undefined) continue;
      const known = adapters.filter((each) => each.recognises(first)).map(({ agent }) => agent);
      expect({ name, known }).toEqual({ name, known: [adapter.agent] });
    }
  });

  test.each(disturbances)(
    "however its stream is $how, every turn ends once and nothing stays open",
    ({ arbitrary }) => {
      fc.assert(
        fc.property(arbitrary(transcripts), ({ recording }) => {
          const events = convertLines(adapter, recording);
          expect(count(events, "turn.ended")).toBe(count(events, "turn.started"));
          expect(count(events, "item.completed")).toBe(count(events, "item.started"));
          expect(brokenRules(events)).toEqual([]);
        }),
        search,
      );
    },
  );
});

const count = (events: readonly UniversalEvent[], type: UniversalEvent["type"]): number =>
  events.filter((event) => event.type === type).length;

/** A disturbed stream has lines that nobody understands; every other rule holds. */
function brokenRules(events: readonly UniversalEvent[]): string[] {
  const violations = lint(universal, JSON.parse(JSON.stringify(events)));
  return violations
    .filter(({ rule }) => rule !== "universal.unparsed")
    .map(({ rule, message }) => `${rule}: ${message}`);
}
