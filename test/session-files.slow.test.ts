/** Session files of real agents: every one is read, keeps the rules, and says what the live stream beside it says. */
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { agentFiles } from "../src/adapters/session-files.ts";
import type { UniversalEvent } from "../src/protocol/events.ts";
import { lint, universal } from "../src/rules/index.ts";
import { expectGolden, jsonLines } from "./support/golden.ts";
import { liveEvents, readRecording, sessionFileRecordings } from "./support/session-files.ts";

/** Folders with nothing to compare, since no stream was recorded: their events are linted only. */
const withoutStream: string[] = [];

afterAll(() => {
  expect(withoutStream.sort()).toEqual([
    "claude/tui-basic",
    "claude/tui-mixed",
    "claude/tui-rewind",
    "gemini/rewound",
    "gemini/two-turns",
  ]);
});

test("there are recordings of every agent whose files are read", () => {
  expect(new Set(sessionFileRecordings.map(({ about }) => about.agent))).toEqual(
    new Set(agentFiles.map(({ adapter }) => adapter.agent)),
  );
});

describe.each(sessionFileRecordings)("$name", (recording) => {
  const { conversations, problems } = readRecording(recording);
  const { about, folder } = recording;

  test("its conversations are found, each with its title and folder", () => {
    expect(problems).toEqual([]);
    const found = conversations.map(({ found: { nativeId, directory } }) => ({ id: nativeId, directory }));
    const roots = about.sessions.filter(({ id }) => found.some((one) => one.id === id));
    expect(found.sort(byId)).toEqual(roots.map(({ id, directory }) => ({ id, directory })).sort(byId));
    expect(conversations.length > 0).toBe(about.sessions.length > 0);
  });

  test("turns, texts and tools are those of the files, and no rule is broken", () => {
    for (const { found, events } of conversations) {
      const said = about.sessions.find(({ id }) => id === found.nativeId);
      expect(endsOf(events)).toEqual(said?.turns.map(({ end }) => end) ?? []);
      const texts = textsOf(events);
      for (const text of said?.turns.flatMap((turn) => turn.texts) ?? []) expect(texts).toContain(text);
      const calls = callsOf(events);
      for (const id of said?.turns.flatMap((turn) => turn.tools) ?? []) expect(calls).toContain(id);
      expect(lint(universal, JSON.parse(JSON.stringify(events)))).toEqual([]);
    }
  });

  test("events", () => {
    for (const { found, events } of conversations) {
      const name = conversations.length === 1 ? "events.jsonl" : `events-${found.nativeId}.jsonl`;
      expectGolden(join(folder, name), jsonLines(events));
    }
  });

  test("the live stream says the same, but for what is listed", () => {
    const live = liveEvents(recording);
    if (live === null) return void withoutStream.push(recording.name);
    const differences = conversations.map(({ found, events }) => {
      const own = live.filter((event) => isOf(event, found.nativeId));
      const [onlyLive, onlyFile] = difference(factsOf(own), factsOf(events));
      return { session: found.nativeId, onlyLive, onlyFile };
    });
    expectGolden(join(folder, "difference.json"), `${JSON.stringify(differences, null, 1)}\n`);
  });
});

const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1);

const isOf = ({ session_id, native_session_id }: UniversalEvent, id: string): boolean =>
  session_id === id || native_session_id === id;

const endsOf = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => (event.type === "turn.ended" ? [event.data.reason] : []));

const completed = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) => (event.type === "item.completed" ? [event.data.item] : []));

const textsOf = (events: readonly UniversalEvent[]): string[] =>
  completed(events).flatMap(({ content }) => content.flatMap((part) => (part.type === "text" ? [part.text] : [])));

const callsOf = (events: readonly UniversalEvent[]): string[] =>
  completed(events).flatMap(({ content }) =>
    content.flatMap((part) => (part.type === "tool_call" ? [part.call_id] : [])),
  );

/** What an event says, without its place: names that only one side has, and times, are left out. */
function factsOf(events: readonly UniversalEvent[]): string[] {
  return events.flatMap((event): string[] => {
    switch (event.type) {
      case "turn.ended":
        return [`turn ended: ${event.data.reason}`];
      case "item.completed": {
        const { kind, role, status, content, subagent } = event.data.item;
        const whose = subagent === undefined ? "" : ` of ${subagent.id}`;
        return [`${kind} ${role} ${status}${whose}: ${JSON.stringify(content)}`];
      }
      case "usage.updated":
        return event.data.step === null ? [] : [`model step: ${JSON.stringify(event.data.step.tokens)}`];
      case "todo.updated":
        return [`todos: ${JSON.stringify(event.data.todos)}`];
      case "error":
        return [`error: ${event.data.message}`];
      default:
        return [];
    }
  });
}

/** What is only in the one, and only in the other; the same fact may occur several times. */
function difference(one: readonly string[], other: readonly string[]): readonly [string[], string[]] {
  const counts = new Map<string, number>();
  for (const fact of other) counts.set(fact, (counts.get(fact) ?? 0) + 1);
  const onlyOne = one.filter((fact) => {
    const left = counts.get(fact) ?? 0;
    counts.set(fact, left - 1);
    return left <= 0;
  });
  const onlyOther: string[] = [];
  for (const [fact, left] of counts) for (let count = 0; count < left; count += 1) onlyOther.push(fact);
  return [onlyOne, onlyOther];
}
