/** One run in Takopi's words: `started` first, an answer that notes do not cut, kinds by what a tool does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kindOf } from "../../../src/projections/takopi/actions.ts";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { problemsIn, toTakopi } from "../../support/dialects.ts";
import { transcriptsFolder } from "../../support/transcripts.ts";

const eventsOf = (scenario: string): UniversalEvent[] =>
  readFileSync(join(transcriptsFolder, scenario, "events.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const isItem = (event: UniversalEvent, kind: string): boolean =>
  event.type === "item.completed" && event.data.item.kind === kind;

describe("started", () => {
  const nameless = eventsOf("mock/tool").map((event) => ({ ...event, native_session_id: null }));

  test("comes before all that happened while the session had no name", () => {
    const named = nameless.map((event) =>
      event.type === "turn.ended" ? { ...event, native_session_id: "late" } : event,
    );
    const lines = toTakopi(named);
    expect(lines[0]).toMatchObject({ type: "started", resume: { value: "late" } });
    expect(lines.filter(({ type }) => type === "action").length).toBeGreaterThanOrEqual(2);
    expect(problemsIn("takopi", lines)).toEqual([]);
  });

  test("a run that fails without a name is only its end", () => {
    const failed = nameless.map((event) =>
      event.type === "turn.ended" ? { ...event, data: { ...event.data, reason: "interrupted" as const } } : event,
    );
    expect(toTakopi(failed).map(({ type }) => type)).toEqual(["completed"]);
  });

  test("waits for what the agent says of itself, also where its session had a name before", () => {
    const [begun, ...rest] = eventsOf("mock/tool");
    if (begun?.type !== "session.started") throw new Error("no session.started");
    const { model, tools } = begun.data.metadata;
    const metadata = { ...begun.data.metadata, model: null, tools: [] };
    const turn = rest.findIndex(({ type }) => type === "turn.started");
    const update: UniversalEvent = { ...begun, source: "agent", type: "session.updated", data: { model, tools } };
    const live = [{ ...begun, data: { metadata } }, ...rest.toSpliced(turn + 1, 0, update)];
    expect(toTakopi(live)[0]).toMatchObject({ type: "started", title: model, meta: { model, tools } });
  });
});

test.each([
  { kind: "note", answer: "Before." },
  { kind: "command", answer: "After." },
] as const)("a $kind after the last words: the answer is $answer", ({ kind, answer }) => {
  const events = eventsOf("mock/tool");
  const text = eventsOf("mock/echo").findLast((event) => isItem(event, "message"));
  const call = events.find((event) => isItem(event, "tool_call"));
  const end = events.findIndex(({ type }) => type === "turn.ended");
  if (text?.type !== "item.completed" || call?.type !== "item.completed") throw new Error("no such items");
  const said = (words: string): UniversalEvent => ({
    ...text,
    data: { item: { ...text.data.item, message_id: null, content: [{ type: "text", text: words }] } },
  });
  const content = call.data.item.content.map((part) =>
    part.type === "tool_call" ? { ...part, tool_kind: kind, name: kind, call_id: "again" } : part,
  );
  const again: UniversalEvent = { ...call, data: { item: { ...call.data.item, content } } };
  const more = kind === "note" ? [said("Before."), again] : [said("Before."), again, said("After.")];
  expect(toTakopi(events.toSpliced(end, 0, ...more)).at(-1)).toMatchObject({
    type: "completed",
    answer: expect.stringContaining(answer),
  });
});

test.each(["WebSearch", "web_search", "websearch", "WebFetch", "web_fetch", "webfetch"])(
  "%s is a web search",
  (name) => {
    expect(kindOf({ agent: "any", name, kind: "tool" })).toBe("web_search");
  },
);
