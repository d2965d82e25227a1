/** The books balance, over all recordings: steps make up their turns, and turns their session. */
import { expect, test } from "vitest";
import { convertLines } from "../../src/core/convert.ts";
import { keepBooks, price, spentInSession, startBooks } from "../../src/core/spent.ts";
import { addTokens, noTokens, tokensBeyond } from "../../src/core/tokens.ts";
import type { Tokens, UniversalEvent } from "../../src/protocol/events.ts";
import { readRecording, sessionFileRecordings } from "../support/session-files.ts";
import { transcripts } from "../support/transcripts.ts";

/** Sums of decimals may differ in their last digits. */
const DIGITS = 9;

test("over all recordings, steps add up to turns and turns to sessions, in tokens and in cost", () => {
  let steps = 0;
  for (const { name, adapter, recording } of transcripts) {
    for (const events of bySession(convertLines(adapter, recording))) steps += checkSession(name, events);
  }
  expect(steps).toBeGreaterThan(400);
});

test("over all session files too", () => {
  let steps = 0;
  for (const recording of sessionFileRecordings) {
    for (const { events } of readRecording(recording).conversations) steps += checkSession(recording.name, events);
  }
  expect(steps).toBeGreaterThan(100);
});

test("every agent has recordings, those that speak ACP among them", () => {
  const recorded = new Set(transcripts.map(({ adapter }) => adapter.agent));
  expect([...recorded]).toEqual(
    expect.arrayContaining(["claude", "codex", "opencode", "gemini", "qwen", "grok", "kimi"]),
  );
});

function bySession(events: readonly UniversalEvent[]): UniversalEvent[][] {
  const sessions = new Map<string, UniversalEvent[]>();
  for (const event of events) sessions.set(event.session_id, [...(sessions.get(event.session_id) ?? []), event]);
  return [...sessions.values()];
}

function checkSession(name: string, events: readonly UniversalEvent[]): number {
  const books = startBooks();
  let turn: Tokens = noTokens();
  let turns: Tokens = noTokens();
  let session: Tokens = noTokens();
  let cost = 0;
  let steps = 0;
  for (const event of events) {
    keepBooks(books, event, Date.parse(event.time));
    if (event.type === "turn.started") {
      turns = addTokens(turns, turn);
      turn = noTokens();
    }
    if (event.type === "turn.ended") expect(event.data.usage.tokens, `${name}: the end of a turn`).toEqual(turn);
    if (event.type !== "usage.updated") continue;
    const { step } = event.data;
    const gained = tokensBeyond(event.data.turn.tokens, turn);
    if (step !== null) {
      steps += 1;
      expect(gained, `${name}: step ${step.index} and its turn`).toEqual(step.tokens);
    }
    expect(addTokens(turn, gained), `${name}: a turn never shrinks`).toEqual(event.data.turn.tokens);
    turn = event.data.turn.tokens;
    session = event.data.session.tokens;
    cost = event.data.session.cost_usd ?? 0;
    expect(session, `${name}: turns and their session`).toEqual(addTokens(turns, turn));
  }
  const spent = spentInSession(books, 0);
  expect(spent.tokens, `${name}: the books`).toEqual(session);
  expect(spent.cost ?? 0, `${name}: the cost in the books`).toBeCloseTo(cost, DIGITS);
  expect(spent.steps, `${name}: the steps in the books`).toBe(steps);
  // What the agent gave a price for is never priced again.
  const { estimated } = price(spent, {});
  expect(estimated).toBe(0);
  return steps;
}
