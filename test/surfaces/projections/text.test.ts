/** What a person reads in the terminal, from recorded events. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replay } from "../../../src/core/fold.ts";
import { activityOf, progressOf, type TextPiece, textProjection } from "../../../src/projections/text/index.ts";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { transcriptsFolder } from "../../support/transcripts.ts";

function eventsOf(scenario: string): UniversalEvent[] {
  const text = readFileSync(join(transcriptsFolder, "mock", scenario, "events.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const textOf = (pieces: readonly TextPiece[], to?: TextPiece["to"]): string =>
  pieces
    .filter((piece) => to === undefined || piece.to === to)
    .map(({ text }) => text)
    .join("");

const plain = { color: false, prompts: false };

test("the answer alone is on one side, ended by a newline; the rest on the other", () => {
  const pieces = replay(textProjection(plain), eventsOf("echo"));
  expect(textOf(pieces, "note")).toMatch(/^✓ completed · \d+ ms · \d+ tokens in, \d+ out · (under )?\$[\d.]+\n$/);
  const answer = textOf(pieces, "answer");
  const said = eventsOf("echo").flatMap((event) => (event.type === "item.delta" ? [event.data.delta] : []));
  expect(answer).toBe(`${said.join("")}\n`);
});

test("a tool is one line, with what it changed", () => {
  const notes = textOf(replay(textProjection(plain), eventsOf("tool")), "note").split("\n");
  expect(notes.filter((line) => line.startsWith("✓")).slice(0, 2)).toEqual([
    expect.stringMatching(/^✓ Read \S+$/),
    expect.stringMatching(/^✓ Edit \S+ \+\d+ −\d+$/),
  ]);
});

test.each([
  "permission-once",
  "question",
  "retry",
  "todo",
  "subagent",
  "reasoning",
  "error",
  "unparsed",
  "crash",
  "demo",
  "permission-reject",
])("%s: whole lines, no control characters, an end", (scenario) => {
  const pieces = replay(textProjection(plain), eventsOf(scenario));
  const text = textOf(pieces);
  expect(text).toMatch(/^(✓ completed|✗ error)/m);
  expect(text.endsWith("\n")).toBe(true);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/);
  // Whoever sees only one side sees whole lines as well.
  for (const to of ["answer", "note"] as const) {
    const side = textOf(pieces, to);
    if (side !== "") expect(side.endsWith("\n")).toBe(true);
  }
});

test("an agent cannot command the terminal", () => {
  const events = eventsOf("echo").map((event) =>
    event.type === "item.delta"
      ? { ...event, data: { ...event.data, delta: "\u001b]0;owned\u0007\u009b2Jhi" } }
      : event,
  );
  expect(textOf(replay(textProjection(plain), events), "answer")).toMatch(/^(\]0;owned2Jhi)+\n$/);
});

test("there is something to say about what is going on exactly while nothing is being written", () => {
  const fold = textProjection(plain);
  const state = fold.start();
  const seen = new Set<string>();
  for (const event of eventsOf("tool")) {
    fold.step(state, event);
    const activity = activityOf(state);
    if (activity !== null) seen.add(activity);
    if (event.type === "turn.ended") expect(activity).toBeNull();
  }
  expect(seen).toContain("thinking");
  expect([...seen].some((label) => label.startsWith("Read"))).toBe(true);
});

test("colours only when asked for, and prompts only when wanted", () => {
  expect(textOf(replay(textProjection(plain), eventsOf("tool")))).not.toContain("\u001b[");
  const coloured = textOf(replay(textProjection({ color: true, prompts: true }), eventsOf("tool")));
  expect(coloured).toContain("\u001b[32m✓\u001b[39m");
  expect(coloured).toContain("›");
});

test("quiet is the answer alone, and the reason when there is none", () => {
  const quiet = { ...plain, detail: "quiet" } as const;
  expect(textOf(replay(textProjection(quiet), eventsOf("tool")), "note")).toBe("");
  expect(textOf(replay(textProjection(quiet), eventsOf("error")), "note")).toMatch(/^✗ error: .*\n$/);
});

test("verbose shows what a tool printed and what it changed", () => {
  const text = textOf(replay(textProjection({ ...plain, detail: "verbose" }), eventsOf("tool")), "note");
  expect(text).toMatch(/✓ Read \S+\n {2}\S/);
  expect(text).toMatch(/✓ Edit \S+ \+1 −0\n(?: {2}.*\n)* {2}\+\S/);
});

test("while waiting: what is going on, seconds, tokens so far, and when the next try is", () => {
  const fold = textProjection(plain);
  const state = fold.start();
  const seen: string[] = [];
  for (const event of eventsOf("retry")) {
    fold.step(state, event);
    const line = progressOf(state, Date.parse(event.time));
    if (line !== null) seen.push(line);
  }
  expect(seen).toContainEqual(expect.stringMatching(/^retrying, try 2 · next try in \d+ s · \d+ s/));
  expect(textOf(replay(textProjection(plain), eventsOf("retry")))).toMatch(/! try 1 failed: .* · next try in /);
});
