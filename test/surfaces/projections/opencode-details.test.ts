/** Small things that OpenCode's clients see, each found by comparing with OpenCode itself. */
import { expect, test } from "vitest";
import type { OpenCodeEventOf } from "../../../src/dialects/opencode.ts";
import { openCodeProblems, sessionsOf, toOpenCode } from "../../support/dialects.ts";
import type { LiveSession } from "../../support/live-session.ts";
import { done, event, message, of, part, prompted, status, text, tool } from "../../support/opencode-events.ts";
import { transcripts } from "../../support/transcripts.ts";

const updates = (live: LiveSession): OpenCodeEventOf<"message.part.updated">["properties"]["part"][] =>
  toOpenCode(live.events).flatMap((one) => (one.type === "message.part.updated" ? [one.properties.part] : []));

const tools = (live: LiveSession) => updates(live).flatMap((one) => (one.type === "tool" ? [one] : []));

const over = [message("msg_1", { finish: "stop", time: { created: 1, completed: 2 } }), ...done];

test("the end of a session is no idle: a turn that is open has ended before it", () => {
  const live = prompted();
  live.hear(text("prt_1", "msg_1", "Half"));
  live.command({ type: "terminate", by: "user" });
  const sent = toOpenCode(live.events);
  expect(sent.filter(({ type }) => type === "session.idle")).toHaveLength(1);
  expect(sent.slice(-1).map(({ type }) => type)).toEqual(["session.updated"]);
  expect(openCodeProblems(sent)).toEqual([]);
});

test("an answer names the prompt that it answers", () => {
  const [transcript] = transcripts.filter(({ name }) => name === "claude/read-edit");
  const sent = toOpenCode((transcript === undefined ? [] : sessionsOf(transcript))[0] ?? []);
  const infos = sent.flatMap((one) => (one.type === "message.updated" ? [one.properties.info] : []));
  const asked = infos.find(({ role }) => role === "user");
  const parents = infos.flatMap((info) => (info.role === "assistant" ? [info.parentID] : []));
  expect(new Set(parents)).toEqual(new Set([asked?.id]));
});

test("two calls of one id are two calls", () => {
  const live = prompted();
  for (const id of ["prt_1", "prt_2"]) {
    const input = { command: `echo ${id}` };
    live.hear(tool({ status: "pending", input: {} }, { id }), tool({ status: "running", input }, { id }));
    live.hear(tool({ status: "completed", input, output: id, title: "", metadata: { exit: 0 } }, { id }));
  }
  live.hear(...over);
  const final = tools(live).filter(({ state }) => state.status === "completed");
  expect(final.map(({ id, state }) => [id, state.input.command])).toEqual([
    ["prt_1", "echo prt_1"],
    ["prt_2", "echo prt_2"],
  ]);
  expect(openCodeProblems(toOpenCode(live.events))).toEqual([]);
});

test("a tool that was refused has nothing to draw but its error", () => {
  const live = prompted();
  const error = "The user rejected permission to use this specific tool call.";
  live.hear(tool({ status: "pending", input: {} }), tool({ status: "running", input: { command: "rm x" } }));
  live.hear(tool({ status: "error", input: { command: "rm x" }, error }), ...over);
  expect(tools(live).at(-1)?.state).toEqual({
    status: "error",
    input: { command: "rm x" },
    error,
    time: expect.anything(),
  });
});

test("the dialog of an edit has its file and its diff", () => {
  const live = prompted();
  const metadata = { filepath: "/workspace/NOTES.txt", diff: "+One." };
  live.hear(event("permission.asked", { id: "per_1", ...of, permission: "edit", patterns: ["NOTES.txt"], metadata }));
  const asked = toOpenCode(live.events).flatMap((one) => (one.type === "permission.asked" ? [one.properties] : []));
  expect(asked.map((one) => one.metadata)).toEqual([metadata]);
});

test("a model step that is tried again begins again", () => {
  const live = prompted();
  live.hear(text("prt_1", "msg_1", ""), event("session.status", { ...of, status: retry }), status("busy"));
  live.hear(text("prt_2", "msg_1", "Whole.", { end: true }), ...over);
  expect(updates(live).map(({ type }) => type)).toEqual([
    "text",
    "step-start",
    "text",
    "text",
    "step-start",
    ...written,
  ]);
});

const retry = { type: "retry", attempt: 1, message: "Too many", next: 5_000 };
/** Empty, then final. */
const written = ["text", "text"];

test("files that are told after a step's end begin no step", () => {
  const live = prompted();
  const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };
  live.hear(text("prt_1", "msg_1", "Made.", { end: true }));
  live.hear(part({ id: "prt_2", messageID: "msg_1", type: "step-finish", reason: "stop", cost: 0, tokens }));
  live.hear(part({ id: "prt_3", messageID: "msg_1", type: "patch", hash: "a", files: ["/workspace/made.txt"] }));
  live.hear(...over);
  expect(updates(live).filter(({ type }) => type === "step-start")).toHaveLength(1);
  expect(toOpenCode(live.events).filter(({ type }) => type === "file.edited")).toHaveLength(1);
});

test("the name that OpenCode gives a session at first is no title", () => {
  const live = prompted();
  const titled = (title: string) => event("session.updated", { ...of, info: { id: of.sessionID, title } });
  live.hear(titled("New session - 2026-11-16T02:38:47.804Z"), titled("A title"));
  expect(live.of("session.updated").flatMap(({ data }) => data.title ?? [])).toEqual(["A title"]);
});
