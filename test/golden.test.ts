/** One test per recorded folder and dialect; nobody writes these by hand. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openRenderer } from "../src/cli/renderer.ts";
import { convertLines } from "../src/core/convert.ts";
import { projections } from "../src/projections/index.ts";
import { lint, universal } from "../src/rules/index.ts";
import { expectGolden, jsonLines } from "./support/golden.ts";
import { orphans, transcripts } from "./support/transcripts.ts";

test("every transcript has an adapter", () => {
  expect(transcripts.length).toBeGreaterThan(0);
  expect(orphans).toEqual([]);
});

describe.each(transcripts)("$name", (transcript) => {
  const eventsOf = lazily(() => convertLines(transcript.adapter, transcript.recording));

  test("events", () => {
    expectGolden(join(transcript.folder, "events.jsonl"), jsonLines(eventsOf()));
  });

  test("turns end as the agent's documentation says", () => {
    const ends = eventsOf().flatMap((event) => (event.type === "turn.ended" ? [event.data] : []));
    expect(ends.map(({ reason, evidence }) => ({ reason, evidence }))).toEqual(transcript.about.turns);
  });

  test("every line is understood", () => {
    const unparsed = eventsOf().filter((event) => event.type === "agent.unparsed");
    expect(unparsed.map((event) => event.data)).toHaveLength(transcript.about.unparsed ?? 0);
  });

  test("no rule is broken", () => {
    const violations = lint(universal, JSON.parse(JSON.stringify(eventsOf())));
    const unparsed = violations.filter(({ rule }) => rule === "universal.unparsed");
    expect(violations.filter((one) => !unparsed.includes(one))).toEqual([]);
    expect(unparsed).toHaveLength(transcript.about.unparsed ?? 0);
  });

  test.each(projections)("$name", ({ name, file }) => {
    const renderer = openRenderer({ to: name });
    const text = renderer.render(eventsOf()) + renderer.end();
    expectGolden(join(transcript.folder, file), text);
  });
});

function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
