/** The reference scenario: "Read README.md and add a line at the end", as Claude Code streams it, event by event. */
import { expect, test } from "vitest";
import { summariseOpenCode } from "../../../src/projections/opencode/index.ts";
import { sessionsOf, toOpenCode } from "../../support/dialects.ts";
import { transcripts } from "../../support/transcripts.ts";

const scenario = (name: string) => {
  const transcript = transcripts.find((one) => one.name === name);
  if (transcript === undefined) throw new Error(`There is no transcript ${name}`);
  const [events = []] = sessionsOf(transcript);
  return toOpenCode(events);
};

test("one busy, one idle, one message, and tools that go pending, running, completed", () => {
  const told = scenario("claude/read-edit-partial");
  const turn = told
    .filter(({ type }) => /^(session\.(status|idle)|message\.)/.test(type))
    .map(summariseOpenCode)
    .filter((line) => !line.includes("(step-"))
    .filter((line, index, lines) => !(isDelta(line) && isDelta(lines[index - 1] ?? "")));
  expect(turn).toEqual([
    "session.status busy",
    "message.updated (user)",
    'message.part.updated (text "Read README.md and add a line at the end")',
    "message.updated (assistant, in progress)",
    'message.part.updated (text "")',
    expect.stringMatching(/^message\.part\.delta /),
    'message.part.updated (text "I\'ll read the file first.")',
    "message.part.updated (tool read, pending)",
    "message.part.updated (tool read, running)",
    "message.part.updated (tool read, completed)",
    "message.part.updated (tool edit, pending)",
    "message.part.updated (tool edit, running)",
    "message.part.updated (tool edit, completed)",
    'message.part.updated (text "")',
    expect.stringMatching(/^message\.part\.delta /),
    'message.part.updated (text "Done: I added a line at the end of README.md.")',
    "message.updated (assistant, completed, stop)",
    "session.status idle",
    "session.idle",
  ]);
});

const isDelta = (line: string): boolean => line.startsWith("message.part.delta");

test("tools carry OpenCode's keys, and the agent's own beside them", () => {
  const parts = scenario("claude/read-edit-partial").flatMap((event) =>
    event.type === "message.part.updated" && event.properties.part.type === "tool" ? [event.properties.part] : [],
  );
  const read = parts.find(({ tool, state }) => tool === "read" && state.status === "completed");
  expect(read?.state.input).toEqual({ filePath: "/workspace/README.md" });
  expect(read?.metadata).toEqual({ native: { tool: "Read", input: { file_path: "/workspace/README.md" } } });
  const edit = parts.find(({ tool, state }) => tool === "edit" && state.status === "completed");
  expect(edit?.state.input).toMatchObject({ filePath: "/workspace/README.md" });
  expect(edit?.state).toMatchObject({ metadata: { filediff: { file: "/workspace/README.md", additions: 1 } } });
});

test("the same without native deltas", () => {
  const told = scenario("claude/read-edit").map(summariseOpenCode);
  expect(told.filter((line) => line === "session.status busy")).toHaveLength(1);
  expect(told.filter((line) => line === "session.status idle")).toHaveLength(1);
  expect(told.filter((line) => line === "session.idle")).toHaveLength(1);
  expect(told.filter((line) => line === "message.updated (assistant, in progress)")).toHaveLength(1);
  expect(told.at(-1)).toBe("session.idle");
});

test("one message per model step, where that is asked for", () => {
  const transcript = transcripts.find((one) => one.name === "claude/read-edit-partial");
  if (transcript === undefined) throw new Error("The transcript is missing");
  const [events = []] = sessionsOf(transcript);
  const told = toOpenCode(events, { messages: "step" }).map(summariseOpenCode);
  expect(told.filter((line) => line === "message.updated (assistant, in progress)")).toHaveLength(3);
  expect(told.filter((line) => line.startsWith("message.updated (assistant, completed"))).toEqual([
    "message.updated (assistant, completed, tool-calls)",
    "message.updated (assistant, completed, tool-calls)",
    "message.updated (assistant, completed, stop)",
  ]);
});
