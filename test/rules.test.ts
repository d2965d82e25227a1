/** Each rule finds what breaks it: a good stream, broken in one place, gives a violation of that rule. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projections } from "../src/projections/index.ts";
import { lint, ruleSets, universal } from "../src/server/rules.ts";
import { transcriptsFolder } from "./support/transcripts.ts";

type Event = Record<string, unknown>;
type Break = (events: Event[]) => Event[];

const stream = (scenario: string, file = "events.jsonl"): Event[] =>
  readFileSync(join(transcriptsFolder, "mock", scenario, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** A copy of the event with the value at the path changed; undefined removes it. */
function changed(event: Event, path: string, value: unknown): Event {
  const [head = "", ...rest] = path.split(".");
  const inner = event[head];
  if (rest.length === 0) return { ...event, [head]: value };
  if (Array.isArray(inner)) return { ...event, [head]: Object.values(changed({ ...inner }, rest.join("."), value)) };
  if (typeof inner !== "object" || inner === null) throw new Error(`no ${path} in ${JSON.stringify(event)}`);
  return { ...event, [head]: changed({ ...inner }, rest.join("."), value) };
}

function indexOf(events: Event[], type: string, nth: number): number {
  const places = events.flatMap((event, index) => (event.type === type ? [index] : []));
  const place = places.at(nth);
  if (place === undefined) throw new Error(`no ${type} number ${nth}`);
  return place;
}

/** Changes one event of a type; `nth` counts from 0, or from the end. */
const change =
  (type: string, path: string, value: unknown, nth = 0): Break =>
  (events) => {
    const place = indexOf(events, type, nth);
    return events.map((event, index) => (index === place ? changed(event, path, value) : event));
  };

const without =
  (type: string, nth = 0): Break =>
  (events) =>
    events.toSpliced(indexOf(events, type, nth), 1);

const doubled =
  (type: string, nth = 0): Break =>
  (events) => {
    const place = indexOf(events, type, nth);
    return events.toSpliced(place, 0, ...events.slice(place, place + 1));
  };

/** Moves an event of a type to the end. */
const last =
  (type: string, nth = 0): Break =>
  (events) => [...without(type, nth)(events), ...events.slice(indexOf(events, type, nth)).slice(0, 1)];

const breaks: Readonly<Record<string, readonly [scenario: string, broken: Break]>> = {
  "universal.shape": ["echo", change("turn.ended", "data.reason", "tired")],
  "universal.sequence": ["echo", without("item.delta")],
  "universal.event-id": ["echo", change("item.delta", "event_id", "elsewhere:6")],
  "universal.time": ["echo", change("turn.ended", "time", "1970-01-01T00:00:00.001Z")],
  "universal.ids": ["echo", change("turn.started", "data.turn_id", "mock-demo:t7")],
  "universal.source": ["echo", change("turn.ended", "source", "agent")],
  "universal.native-id": ["echo", change("turn.ended", "native_session_id", null)],
  "universal.session-started": ["echo", last("session.started")],
  "universal.session-ended": ["echo", (events) => events.toSpliced(-1, 0, sessionEnd(events))],
  "universal.turn-alone": ["error", without("turn.ended")],
  "universal.turn-ends-once": ["echo", doubled("turn.ended")],
  "universal.turn-named": ["echo", change("item.delta", "turn_id", null)],
  "universal.turn-state": ["retry", change("turn.state", "data.attempt", undefined)],
  "universal.turn-waits": ["permission-once", change("turn.state", "data.state", "compacting")],
  "universal.turn-closed": ["echo", without("item.completed", -1)],
  "universal.turn-reason": ["error", change("turn.ended", "data.error", undefined)],
  "universal.turn-error": ["error", without("error")],
  "universal.turn-continued": ["echo", (events) => events.toSpliced(-1, 0, continuation(events))],
  "universal.item-lifecycle": ["echo", last("item.delta")],
  "universal.item-status": ["echo", change("item.completed", "data.item.status", "in_progress")],
  "universal.item-same": ["tool", change("item.completed", "data.item.content.0.name", "write", 2)],
  "universal.text-adds-up": ["echo", without("item.delta")],
  "universal.delta-part": ["echo", change("item.delta", "data.part", "tool_output")],
  "universal.block": [
    "echo",
    change(
      "item.completed",
      "data.item.content",
      [
        { type: "text", text: "Hello," },
        { type: "text", text: " world!" },
      ],
      -1,
    ),
  ],
  "universal.part-place": ["tool", change("item.completed", "data.item.kind", "status", -2)],
  "universal.tool-part": ["tool", change("item.completed", "data.item.content.0.arguments", "{", 2)],
  "universal.parent": ["tool", change("item.started", "data.item.parent_id", "mock-demo:i99", 2)],
  "universal.request-resolved-once": ["permission-once", without("permission.resolved")],
  "universal.request-status": ["permission-once", change("permission.resolved", "data.action", "format the disk")],
  "universal.request-in-turn": ["permission-once", last("permission.resolved")],
  "universal.usage-grows": ["usage", change("usage.updated", "data.session.tokens.input", 0, -1)],
  "universal.usage-steps": ["usage", change("usage.updated", "data.step.index", 5, -1)],
  "universal.usage-total": ["usage", change("turn.ended", "data.usage.tokens.input", 0)],
  "universal.todo-ids": ["todo", change("todo.updated", "data.todos.1.id", "1")],
  "universal.unparsed": ["unparsed", (events) => events],
};

function sessionEnd(events: Event[]): Event {
  return { ...events.at(-1), type: "session.ended", data: { reason: "terminated", terminated_by: "user" } };
}

function continuation(events: Event[]): Event {
  const data = { turn_id: "mock-demo:t1", decision: "continue", reason: "todos", attempt: 4, limit: 3, inputs: null };
  return { ...events.at(-1), type: "turn.continued", data };
}

describe("universal", () => {
  test.each(universal.rules)("$id", ({ id }) => {
    const [scenario, broken] = breaks[id] ?? [];
    if (scenario === undefined || broken === undefined) throw new Error(`${id}: no stream that breaks it`);
    const good = stream(scenario);
    if (id !== "universal.unparsed") expect(lint(universal, good)).toEqual([]);
    const rules = lint(universal, broken(good)).map(({ rule }) => rule);
    expect(rules).toContain(id);
  });

  test("names the line, and where the rule is explained", () => {
    const [violation] = lint(universal, change("item.delta", "event_id", "elsewhere:6")(stream("echo")));
    expect(violation).toEqual({
      rule: "universal.event-id",
      message: "event_id elsewhere:6, expected mock-demo:6",
      line: 6,
      docs: "docs/rules.md#universal.event-id",
    });
  });

  test("judges each session of a mixed stream by itself", () => {
    const one = stream("echo");
    const other = stream("permission-once").map((event) =>
      JSON.parse(JSON.stringify(event).replaceAll("mock-demo", "other")),
    );
    const mixed = one.flatMap((event, index) => [event, ...other.slice(index * 2, index * 2 + 2)]);
    expect(lint(universal, [...mixed, ...other.slice(one.length * 2)])).toEqual([]);
  });

  test("takes anything for a line", () => {
    for (const value of [null, 1, "text", [], {}, { type: "item.delta" }]) {
      expect(lint(universal, [value]).map(({ rule }) => rule)).toEqual(["universal.shape"]);
    }
  });
});

const dialects = ruleSets.filter((set) => set !== universal);

test("every projection with rules is among the dialects that are checked", () => {
  expect(dialects).toEqual(projections.flatMap(({ rules }) => (rules === null ? [] : [rules])));
});

test.each(dialects)("the mock's streams break no rule of $dialect", (set) => {
  const { dialect } = set;
  for (const scenario of ["tool", "permission-once", "error", "crash"]) {
    expect(lint(set, stream(scenario, `${dialect}.jsonl`))).toEqual([]);
  }
  expect(lint(set, [{}]).map(({ rule }) => rule)).toContain(`${dialect}.shape`);
});
