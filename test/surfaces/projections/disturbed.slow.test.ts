/**
 * Whatever happens to a recording on its way — cuts, repeats, swaps, garbage — busy and idle pair and the rules hold.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Adapter } from "../../../src/core/adapter.ts";
import type { Recorded } from "../../../src/core/convert.ts";
import { quickTranscripts } from "../../support/contract.ts";
import { problemsOf, sessionsOf } from "../../support/dialects.ts";

const agents = [...new Set(quickTranscripts.map(({ adapter }) => adapter.agent))].map((agent) => ({
  agent,
  ofAgent: quickTranscripts.filter(({ adapter }) => adapter.agent === agent),
}));

function problems(adapter: Adapter, recording: readonly Recorded[]): string[] {
  return sessionsOf({ adapter, recording }).flatMap(problemsOf);
}

/** Long recordings are cut at every so many lines, so that the whole stays quick. */
const MAX_CUTS = 25;

describe.each(agents)("$agent", ({ ofAgent }) => {
  test("cut after any line", () => {
    for (const { name, adapter, recording } of ofAgent) {
      const every = Math.max(1, Math.floor(recording.length / MAX_CUTS));
      for (let length = 0; length < recording.length; length += every) {
        expect(problems(adapter, recording.slice(0, length)), `${name} after ${length} lines`).toEqual([]);
      }
    }
  });

  test("every line said twice", () => {
    for (const { name, adapter, recording } of ofAgent) {
      const doubled = recording.flatMap((line) => [line, line]);
      expect(problems(adapter, doubled), name).toEqual([]);
    }
  });

  test("lines lost, repeated, swapped, and garbage between them", () => {
    const disturbed = fc.constantFrom(...ofAgent).chain(({ adapter, recording, name }) =>
      fc
        .array(fc.tuple(fc.nat(Math.max(0, recording.length - 1)), fc.constantFrom(...disturbances)), { maxLength: 6 })
        .map((steps) => ({
          name,
          adapter,
          recording: steps.reduce((lines, [place, disturb]) => disturb(lines, place), [...recording]),
        })),
    );
    fc.assert(
      fc.property(disturbed, ({ adapter, recording }) => {
        expect(problems(adapter, recording)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

type Disturbance = (lines: Recorded[], place: number) => Recorded[];

const garbage: Recorded = { type: "line", from: "agent", line: { type: "no such thing", of: [1, 2] }, at: null };
const noise: Recorded = { type: "unreadable", text: "{broken", error: "Not JSON", at: null };

const disturbances: readonly Disturbance[] = [
  (lines, place) => lines.toSpliced(place, 1),
  (lines, place) => lines.toSpliced(place, 0, ...lines.slice(place, place + 1)),
  (lines, place) => lines.toSpliced(place, 2, ...lines.slice(place, place + 2).reverse()),
  (lines, place) => lines.toSpliced(place, 0, garbage),
  (lines, place) => lines.toSpliced(place, 0, noise),
];
