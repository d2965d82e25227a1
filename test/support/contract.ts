/** What every adapter keeps, whatever its agent does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { acpAgents } from "../../src/adapters/acp/agents/index.ts";
import { adapters } from "../../src/adapters/index.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import { convertLines } from "../../src/core/convert.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { lint, universal } from "../../src/rules/index.ts";
import { disturbances } from "./disturb.ts";
import { transcripts as allTranscripts, transcriptsOf } from "./transcripts.ts";

/** The same cases every time; FC_RUNS and FC_SEED look further. */
const search = { numRuns: Number(process.env.FC_RUNS ?? 40), seed: Number(process.env.FC_SEED ?? 1) };

/** ACP agents share one fold. Three of them stand for it among the quick tests; `test/acp` has the others. */
const quick: ReadonlySet<string> = new Set(["acp", "claude-acp", "gemini"]);
const isSlow = ({ agent }: Adapter): boolean => acpAgents.some((one) => one.agent === agent) && !quick.has(agent);
/** Recordings for tests that take long over each: ACP agents share one fold. */
export const quickTranscripts = allTranscripts.filter(({ adapter }) => !isSlow(adapter));
export const slowAdapters: readonly Adapter[] = adapters.filter(isSlow);
/** A new adapter is covered as soon as it is in the table. */
export const quickAdapters: readonly Adapter[] = adapters.filter((adapter) => !isSlow(adapter));

export function testContract(adapter: Adapter): void {
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
}

const count = (events: readonly UniversalEvent[], type: UniversalEvent["type"]): number =>
  events.filter((event) => event.type === type).length;

/** A disturbed stream has lines that nobody understands; every other rule holds. */
function brokenRules(events: readonly UniversalEvent[]): string[] {
  const violations = lint(universal, JSON.parse(JSON.stringify(events)));
  return violations
    .filter(({ rule }) => rule !== "universal.unparsed")
    .map(({ rule, message }) => `${rule}: ${message}`);
}
