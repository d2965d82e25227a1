/** OpenCode after a gap: a stream that was cut, an idle that was lost, a child whose call is told late. */
import { describe, expect, test } from "vitest";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { type LiveSession, liveSession } from "../support/live-session.ts";
import {
  delta,
  done,
  ends,
  event,
  idle,
  message,
  of,
  prompted,
  requests,
  root,
  status,
  text,
  tool,
  words,
} from "../support/opencode-events.ts";

function permissionOf(live: LiveSession) {
  const [asked] = live.of("permission.requested");
  if (asked === undefined) throw new Error("Nothing was asked.");
  return asked.data.permission_id;
}

describe("when the event stream is cut", () => {
  const connected = event("server.connected", {});
  const answered = (parts: object[], info: object = {}) => [
    { info: { id: "msg_0", ...of, role: "user" }, parts: [] },
    { info: { id: "msg_1", ...of, role: "assistant", time: { created: 1 }, ...info }, parts },
  ];
  const whole = {
    id: "prt_1",
    ...of,
    messageID: "msg_1",
    type: "text",
    text: "One two three.",
    time: { start: 1, end: 2 },
  };

  function cutInMidText(): LiveSession {
    const live = prompted();
    live.hear(text("prt_1", "msg_1", ""), delta("prt_1", "msg_1", "One "), connected);
    return live;
  }

  function rest(live: LiveSession, { busy }: { busy: boolean }): void {
    live.answer("/permission", { body: [] });
    live.answer("/question", { body: [] });
    live.answer("/session/status", { body: busy ? { [root]: { type: "busy" } } : {} });
  }

  test("the text goes on without a hole and without a repeat", () => {
    const live = cutInMidText();
    live.answer("/message", { body: answered([{ ...whole, text: "", time: { start: 1 } }]) });
    rest(live, { busy: true });
    live.hear(delta("prt_1", "msg_1", "three."), text("prt_1", "msg_1", "One two three.", { end: true }));
    live.hear(message("msg_1", { finish: "stop", time: { created: 1, completed: 2 } }), ...done);
    expect(live.of("item.delta").map(({ data }) => data.delta)).toEqual(["One ", "two three."]);
    expect(ends(live)).toEqual(["completed by signal"]);
  });

  test("a turn that ended meanwhile ends, with all that was said", () => {
    const live = cutInMidText();
    const finished = { finish: "stop", time: { created: 1, completed: 2 } };
    live.answer("/message", { body: answered([whole], finished) });
    rest(live, { busy: false });
    expect(words(live)).toContain("assistant completed One two three.");
    expect(ends(live)).toEqual(["completed by signal"]);
    // What comes late of it says nothing new.
    live.hear(text("prt_1", "msg_1", "One two three.", { end: true }), ...done.slice(1));
    expect(words(live).filter((line) => line.includes("three"))).toHaveLength(1);
    expect(ends(live)).toHaveLength(1);
  });

  test("a whole turn that was missed is told from its messages", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    live.connect({ resume: root });
    live.answer(`/session/${root}`, { body: { id: root } });
    live.answer("/message", { body: [{ info: { id: "msg_past", ...of, role: "assistant" }, parts: [] }] });
    live.answer("/prompt_async", { status: 204 });
    live.hear(connected);
    const past = { info: { id: "msg_past", ...of, role: "assistant" }, parts: [{ ...whole, id: "p", text: "old" }] };
    const now = answered([whole], { finish: "stop", time: { created: 1, completed: 2 } });
    live.answer("/message", { body: [past, ...now] });
    rest(live, { busy: false });
    expect(words(live)).toEqual(["user completed hello", "assistant completed One two three."]);
    expect(ends(live)).toEqual(["completed by signal"]);
  });

  test("a request that was made meanwhile is asked; one of another session is not", () => {
    const live = cutInMidText();
    live.answer("/message", { body: answered([]) });
    const asked = { id: "per_1", ...of, permission: "bash", patterns: ["ls"] };
    live.answer("/permission", { body: [asked, { ...asked, id: "per_2", sessionID: "ses_other" }] });
    expect(live.of("permission.requested").map(({ data }) => data.action)).toEqual(["bash"]);
    live.command({ type: "permission.reply", permission_id: permissionOf(live), reply: "once" });
    expect(requests(live).some(({ path }) => path.startsWith("/permission/per_1/reply"))).toBe(true);
  });

  test("an idle that was lost without a cut is found after a silent heartbeat", () => {
    const live = prompted();
    const beat = event("server.heartbeat", {});
    live.hear(beat);
    expect(live.asked()).toEqual([]);
    live.hear(beat);
    live.answer("/session/status", { body: {} });
    live.answer("/message", { body: answered([whole], { finish: "stop", time: { created: 1, completed: 2 } }) });
    rest(live, { busy: false });
    expect(ends(live)).toEqual(["completed by signal"]);
  });
});

describe("subagents", () => {
  const child = "ses_child";
  const created = event("session.created", { sessionID: child, info: { id: child, parentID: root, agent: "general" } });
  const task = (status: string, sessionId = child) =>
    tool({ status, input: { subagent_type: "general" }, output: "done", metadata: { sessionId } }, { tool: "task" });
  const childWords = event("message.part.updated", {
    part: { id: "prt_c", sessionID: child, messageID: "msg_c", type: "text", text: "Hi.", time: { start: 1, end: 2 } },
  });
  const childMessage = event("message.updated", { info: { id: "msg_c", sessionID: child, role: "assistant" } });

  test("a child's first item names the call that made it, though that is told later", () => {
    const live = prompted();
    live.hear(tool({ status: "pending", input: {} }, { tool: "task" }), created, task("running"));
    live.hear(status("busy", child), childMessage, childWords, status("idle", child), idle(child), task("completed"));
    const told = live.of("item.completed").filter(({ data }) => data.item.subagent !== undefined);
    expect(told.map(({ data: { item } }) => `${item.kind} ${item.status} ${item.subagent?.parent_call_id}`)).toEqual([
      "message completed call_1",
      "status completed call_1",
    ]);
    expect(ends(live)).toEqual([]);
    live.hear(...done);
    expect(ends(live)).toEqual(["completed by signal"]);
  });

  test("a child that is put to work again is a second status", () => {
    const live = prompted();
    live.hear(created, task("running"), status("busy", child), idle(child), task("completed"));
    live.hear(status("busy", child), childMessage, childWords, idle(child));
    const statuses = live.of("item.started").filter(({ data }) => data.item.kind === "status");
    expect(statuses).toHaveLength(2);
  });
});
