/** Every command line of the corpus has the expected verdict under every rule set. */
import { describe, expect, test } from "vitest";
import { inspectAction } from "../../src/runtime/inspect-action.ts";
import { readCorpus } from "./corpus.ts";
import { judgeInspected, openFixture, ruleSets } from "./fixture.ts";

const corpus = readCorpus();
const letters = { allow: "a", ask: "?", deny: "d" } as const;

test("the corpus is large enough", () => {
  expect(corpus.length).toBeGreaterThanOrEqual(150);
});

describe.each([...new Set(corpus.map(({ group }) => group))])("%s", (group) => {
  test("verdicts under the five rule sets", async () => {
    const fixture = openFixture();
    const { directory } = fixture;
    const lines = corpus.filter((one) => one.group === group);
    const found: string[] = [];
    for (const { line } of lines) {
      const action = { kind: "command", command: line.replaceAll("OUT", fixture.outside) } as const;
      const inspection = await inspectAction(action, directory);
      const judged = ruleSets.map(
        ([, rules]) => letters[judgeInspected({ action, inspection, directory }, { rules }).action],
      );
      found.push(`${judged.join("")} ${line}`);
    }
    expect(found).toEqual(lines.map(({ line, verdicts }) => `${verdicts} ${line}`));
  });
});

test("a recording without an inspection is never allowed by a rule, and denied where it can be", () => {
  for (const { line, verdicts } of corpus) {
    const command = line.replaceAll("OUT", "/outside");
    const action = { kind: "command", command } as const;
    const judged = ruleSets.map(
      ([, rules]) => letters[judgeInspected({ action, inspection: null, directory: "/project" }, { rules }).action],
    );
    expect([line, judged.join("").replaceAll("?", "a")]).toEqual([line, verdicts.replaceAll("?", "a")]);
    expect(judged).not.toContain("a");
  }
});
