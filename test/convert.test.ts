/** Recordings in every form, with several sessions, broken lines and early ends. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { claude } from "../src/adapters/claude/index.ts";
import { mock } from "../src/adapters/mock/index.ts";
import type { Adapter } from "../src/core/adapter.ts";
import { convertLines, openConverter } from "../src/core/convert.ts";
import { type Recorded, readRecorded, recordedFrom } from "../src/dialects/recording.ts";
import { isShape } from "../src/dialects/shape.ts";
import type { UniversalEvent } from "../src/protocol/events.ts";
import { transcriptsFolder, transcriptsOf } from "./support/transcripts.ts";

interface OwnForm {
  readonly t: number;
  readonly from: "agent" | "host" | "process";
  readonly line: Record<string, unknown>;
}

const own = (scenario: string): OwnForm[] =>
  readFileSync(join(transcriptsFolder, "mock", scenario, "native.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const convert = (values: readonly unknown[], adapter: Adapter = mock): UniversalEvent[] =>
  convertLines(adapter, values.map(recordedFrom));

const typesOf = (events: readonly UniversalEvent[]): string[] => events.map(({ type }) => type);

describe("forms", () => {
  const lines = own("permission-once");
  const expected = convert(lines);
  const sides = { agent: "server", host: "client", process: "process" };

  test("{t, dir, msg}", () => {
    expect(convert(lines.map(({ t, from, line }) => ({ t, dir: sides[from], msg: line })))).toEqual(expected);
  });

  test("native lines of the API", () => {
    const form = lines.map(({ t, from, line }, index) => ({
      line: index + 1,
      time: new Date(t).toISOString(),
      from,
      native: line,
    }));
    expect(convert(form)).toEqual(expected);
  });

  test("{t, event} has the agent's lines only: nothing is made up for the host", () => {
    const events = convert(lines.filter(({ from }) => from === "agent").map(({ t, line }) => ({ t, event: line })));
    expect(events.filter((event) => event.type === "item.started" && event.data.item.role === "user")).toEqual([]);
    const resolved = events.filter((event) => event.type === "permission.resolved");
    expect(resolved.map(({ data }) => data.status)).toEqual(["accept", "accept"]);
  });

  test("raw lines: the time stands still where nobody tells it", () => {
    const events = convert(lines.filter(({ from }) => from === "agent").map(({ line }) => line));
    expect(new Set(events.map(({ time }) => time))).toEqual(new Set(["1970-01-01T00:00:00.000Z"]));
    expect(typesOf(events).filter((type) => type === "turn.ended")).toHaveLength(1);
  });

  test("raw lines: a line's own time counts, and never goes back", () => {
    const [ready] = own("echo");
    const events = convert([
      { ...ready?.line, timestamp: "2026-01-02T03:04:05.678Z" },
      { type: "block", id: "b", message: "m", kind: "text", timestamp: 1 },
      { type: "end", reason: "completed", timestamp: Date.parse("2026-01-02T03:05:00.000Z") },
    ]);
    expect(events.at(0)?.time).toBe("2026-01-02T03:04:05.678Z");
    expect(events.at(1)?.time).toBe("2026-01-02T03:04:05.678Z");
    expect(events.at(-1)?.time).toBe("2026-01-02T03:05:00.000Z");
  });

  test.each([
    { process: { exit: 0, signal: null } },
    { t: 5, process: { exit: 0, signal: null } },
    { t: 5, dir: "process", msg: { exit: 0, signal: null } },
    { t: 5, from: "process", line: { exit: { code: 0, signal: null } } },
  ])("%j is the end of the process", (value) => {
    expect(recordedFrom(value)).toMatchObject({ type: "exit", exit: { code: 0, signal: null } });
  });

  test("an HTTP log is requests and responses", () => {
    const path = "/session";
    const asked = recordedFrom({ t: 1, dir: "client", method: "POST", path, body: {} });
    const answered = recordedFrom({ t: 2, dir: "server", method: "POST", path, status: 200, body: { id: "s" } });
    const id = "POST /session";
    expect(asked).toMatchObject({ from: "host", line: { request: { id, method: "POST", path, body: {} } } });
    expect(answered).toMatchObject({ from: "agent", line: { response: { id, status: 200, body: { id: "s" } } } });
  });

  test("an empty line is nothing, a broken one is unreadable", () => {
    expect(readRecorded("  ")).toBeNull();
    expect(readRecorded('{"type":')).toMatchObject({ type: "unreadable", text: '{"type":' });
  });
});

describe("what comes out", () => {
  test("an open turn at the end of the input is interrupted, by evidence exit", () => {
    const events = convert(own("tool").slice(0, 12));
    const end = events.at(-1);
    expect(end).toMatchObject({ type: "turn.ended", data: { reason: "interrupted", evidence: "exit" } });
  });

  test("the session is named by the agent, or convert", () => {
    expect(convert(own("echo")).at(0)?.session_id).toBe("mock-demo");
    const unnamed = convert(own("echo").slice(1));
    expect(new Set(unnamed.map(({ session_id }) => session_id))).toEqual(new Set(["convert"]));
    expect(typesOf(unnamed)).toContain("session.started");
  });

  test("broken lines are named by their place, and the rest is converted", () => {
    const converter = openConverter({ adapter: mock });
    const texts = own("echo").map((line) => JSON.stringify(line));
    texts.splice(3, 0, "{broken", '{"t":500,"from":"agent","line":{"type":"nonsense"}}');
    const events = texts.flatMap((text, index) => {
      const recorded = readRecorded(text);
      return recorded === null ? [] : [...converter.step({ ...recorded, place: index + 1 })];
    });
    events.push(...converter.end());
    expect(converter.misread().count).toBe(2);
    expect(converter.misread().first.map(({ place }) => place)).toEqual([4, 5]);
    expect(typesOf(events.filter(({ type }) => type !== "agent.unparsed"))).toEqual(typesOf(convert(own("echo"))));
  });

  test("raw is the native line, where it is asked for", () => {
    const events = convertLines(mock, own("echo").map(recordedFrom), { includeRaw: true });
    const delta = events.find(({ type }) => type === "item.delta");
    expect(delta?.raw).toMatchObject({ type: "delta", text: "Hello," });
    expect(convert(own("echo")).every(({ raw }) => raw === null)).toBe(true);
  });

  test("what would have been due by the clock of the recording has happened", () => {
    const lines = own("double-end");
    const late = lines.map((entry) => (entry.line.type === "result" ? { ...entry, t: entry.t + 60_000 } : entry));
    const end = convert(late).find(({ type }) => type === "turn.ended");
    expect(end).toMatchObject({ time: "1970-01-01T00:00:10.630Z", cause: { rule: "turn.grace" } });
  });
});

/** The mock on a connection that carries several conversations: each line names its thread. */
const shared: Adapter = {
  ...mock,
  route: (value) => {
    if (!isShape(value) || typeof value.thread !== "string") return { thread: null };
    return { thread: value.thread, root: value.type === "ready" };
  },
};

function interleaved(): Recorded[] {
  const both = ["tool", "permission-once"].flatMap((scenario) =>
    own(scenario).map(({ t, from, line }) => {
      const rename = JSON.stringify({ ...line, thread: scenario }).replaceAll("mock-demo", scenario);
      return { t, from, line: JSON.parse(rename) };
    }),
  );
  return both.sort((one, other) => one.t - other.t).map(recordedFrom);
}

describe("several sessions in one stream", () => {
  test("each is what it would be alone", () => {
    const events = convertLines(shared, interleaved());
    for (const scenario of ["tool", "permission-once"]) {
      const mine = events.filter(({ session_id }) => session_id === scenario);
      const alone = interleaved().filter(
        (entry) => entry.type === "line" && JSON.stringify(entry.line).includes(`"thread":"${scenario}"`),
      );
      expect(mine).toEqual(convertLines(shared, alone));
    }
  });

  test("lines of a thread that nobody has opened wait, and are a session of their own at the end", () => {
    const orphans = interleaved().filter(
      (entry) => entry.type === "line" && isShape(entry.line) && entry.line.type !== "ready",
    );
    const sessions = new Set(convertLines(shared, orphans).map(({ session_id }) => session_id));
    expect(sessions).toEqual(new Set(["tool", "permission-once"]));
  });

  test("a broken line counts once, however many sessions there are", () => {
    const converter = openConverter({ adapter: shared });
    for (const entry of interleaved()) converter.step(entry);
    converter.step({ type: "line", from: "agent", line: { type: "nonsense" }, at: null, place: 99 });
    expect(converter.misread()).toMatchObject({ count: 1, first: [{ place: 99 }] });
  });
});

describe("what an agent printed, and nothing else", () => {
  // The form of `claude … > file`: no times but those in some lines, no host, no word of the process's end.
  const bare = transcriptsOf(claude).map(({ name, recording }) => ({
    name,
    printed: recording.flatMap((entry) => (entry.type === "line" && entry.from === "agent" ? [entry.line] : [])),
  }));

  test.each(bare)("$name: time that was not told does not pass", ({ printed }) => {
    const ends = convert(printed, claude).flatMap((event) => (event.type === "turn.ended" ? [event.data] : []));
    expect(ends.filter(({ evidence }) => evidence === "watchdog")).toEqual([]);
  });

  test("a read and an edit are one turn", () => {
    const printed = bare.find(({ name }) => name === "claude/read-edit")?.printed ?? [];
    const events = convert(printed, claude);
    expect(typesOf(events).filter((type) => type.startsWith("turn."))).toEqual(["turn.started", "turn.ended"]);
    expect(events.at(-1)).toMatchObject({ data: { reason: "completed", evidence: "signal" } });
  });
});
