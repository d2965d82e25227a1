/** What is asked of OpenCode beside turns: which requests go out, who hears the answers, and what events come of it. */
import { describe, expect, test } from "vitest";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { defaultPolicy, type Effect } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import type { Ask } from "../../src/protocol/commands.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";
import { type LiveSession, liveSession } from "../support/live-session.ts";
import { done, event, of, prompted, requests, root, words } from "../support/opencode-events.ts";

const ask = (live: LiveSession, given: Ask, ask_id = "a1") => live.command({ type: "ask", ask_id, ask: given });
const answered = (effects: readonly Effect[]) => effects.filter(({ type }) => type === "answered");
const updates = (live: LiveSession) => live.of("session.updated").map(({ data }) => data);
const session = (fields: object = {}) => ({ id: root, title: "T", ...fields });
const note: Ask = { word: "note", prompt: { prompt_id: promptId("n"), text: "note", attachments: [] } };

/** A session that is there and rests. */
function resting(): LiveSession {
  const live = prompted();
  live.hear(...done);
  return live;
}

describe("asking", () => {
  test("opens the connection, waits for the session and gives the answer back", () => {
    const live = liveSession(opencode);
    expect(ask(live, { word: "share" }).map(({ type }) => type)).toEqual(["connect"]);
    live.connect();
    expect(requests(live).map(({ path }) => path.split("?")[0])).toEqual(["/session"]);
    live.answer("/session", { body: session() });
    expect(requests(live).map(({ method, path }) => `${method} ${path.split("?")[0]}`)).toEqual([
      `POST /session/${root}/share`,
    ]);
    const body = session({ share: { url: "http://x" } });
    expect(answered(live.answer("/share", { body }))).toEqual([{ type: "answered", ask_id: "a1", status: 200, body }]);
    expect(updates(live)).toContainEqual({ share: { url: "http://x" } });
    expect(live.of("turn.started")).toEqual([]);
  });

  test.each([
    [
      { word: "revert", message_id: "msg_1", native_item_id: "prt_1" },
      "POST",
      "/revert",
      { messageID: "msg_1", partID: "prt_1" },
    ],
    [{ word: "unrevert" }, "POST", "/unrevert", undefined],
    [{ word: "unshare" }, "DELETE", "/share", undefined],
    [{ word: "remove", message_id: "msg_1" }, "DELETE", "/message/msg_1", undefined],
    [
      { word: "remove", message_id: "msg_1", native_item_id: "prt_1" },
      "DELETE",
      "/message/msg_1/part/prt_1",
      undefined,
    ],
    [note, "POST", "/message", { parts: [{ type: "text", text: "note" }], noReply: true }],
  ] as const)("%j", (given, method, path, body) => {
    const live = resting();
    ask(live, given);
    expect(requests(live)).toEqual([
      { method, path: `/session/${root}${path}?directory=%2Fworkspace`, ...(body === undefined ? {} : { body }) },
    ]);
  });

  test("a refusal is an answer, and changes nothing", () => {
    const live = resting();
    ask(live, { word: "revert", message_id: "msg_1" });
    const before = live.events.length;
    const effects = live.answer("/revert", { status: 400, body: { name: "BadRequest" } });
    expect(answered(effects)).toMatchObject([{ ask_id: "a1", status: 400, body: { name: "BadRequest" } }]);
    expect(live.events).toHaveLength(before);
  });

  test("whoever waits is told when the agent goes, also before it was there", () => {
    const live = resting();
    ask(live, { word: "share" });
    const exit = { code: 1, signal: null, message: "It fell over." };
    const lost = { type: "answered", ask_id: "a1", status: 0, body: { message: "It fell over." } };
    expect(answered(live.disconnect(exit))).toEqual([lost]);
    ask(live, { word: "share" }, "a2");
    expect(answered(live.disconnect(exit))).toEqual([{ ...lost, ask_id: "a2" }]);
    expect(answered(live.disconnect(exit))).toEqual([]);
  });

  test("and when the session ends", () => {
    const live = resting();
    ask(live, { word: "share" });
    expect(answered(live.command({ type: "terminate", by: "user" }))).toMatchObject([{ ask_id: "a1", status: 0 }]);
  });

  test("and when the connection is given up before it was there", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    ask(live, { word: "share" });
    live.command({ type: "abort", clear_queue: false });
    const exit = { code: null, signal: null };
    expect(answered(live.disconnect(exit))).toMatchObject([{ ask_id: "a1", status: 0 }]);
    ask(live, { word: "share" }, "a2");
    live.connect();
    live.answer("/session", { body: session() });
    expect(requests(live).map(({ path }) => path.split("?")[0])).toEqual([`/session/${root}/share`]);
  });
});

describe("what comes of it", () => {
  test("a revert is told once, whether the event or the answer is first; its end too", () => {
    const revert = { messageID: "msg_0", snapshot: "abc", diff: "-a" };
    const told = { revert: { message_id: "msg_0", snapshot: "abc", diff: "-a" } };
    const live = resting();
    ask(live, { word: "revert", message_id: "msg_0" });
    live.hear(event("session.updated", { info: session({ revert }) }));
    live.answer("/revert", { body: session({ revert }) });
    expect(updates(live).filter((data) => data.revert !== undefined)).toEqual([{ ...told, title: "T" }]);
    ask(live, { word: "unrevert" }, "a2");
    live.answer("/unrevert", { body: session() });
    live.hear(event("session.updated", { info: session() }));
    expect(updates(live).at(-1)).toEqual({ revert: null });
    expect(updates(live).filter((data) => data.revert === null)).toHaveLength(1);
  });

  test("a session that was closed knows what was taken back, and hears that it is not any more", () => {
    const live = resting();
    live.hear(event("session.updated", { info: session({ revert: { messageID: "msg_0" } }) }));
    const again = openSession({
      sessionId: sessionId("s"),
      adapter: opencode,
      policy: defaultPolicy,
      snapshot: live.session.snapshot(),
      connected: true,
    });
    const line = event("session.updated", { info: session() });
    const { events } = again.step({ type: "line", from: "agent", line, at: 9_000 });
    expect(events.map(({ data }) => data)).toEqual([{ revert: null }]);
  });

  test("the answer to the end of a share is stale, and is not believed", () => {
    const share = { url: "http://x" };
    const live = resting();
    live.hear(event("session.updated", { info: session({ share }) }));
    ask(live, { word: "unshare" });
    live.hear(event("session.updated", { info: session() }));
    live.answer("/share", { body: session({ share }) });
    expect(updates(live).at(-1)).toEqual({ share: null });
  });

  test("what is removed is told once, and leaves the snapshot", () => {
    const live = resting();
    ask(live, { word: "remove", message_id: "msg_0" });
    live.answer("/message/msg_0", { body: true });
    live.hear(event("message.removed", { ...of, messageID: "msg_0" }));
    live.hear(event("message.part.removed", { ...of, messageID: "msg_9", partID: "prt_9" }));
    expect(updates(live).flatMap(({ removed = [] }) => removed)).toEqual([
      { message_id: "msg_0" },
      { message_id: "msg_9", native_item_id: "prt_9" },
    ]);
    const items = [...live.session.snapshot().items.values()];
    expect(items.some(({ message_id }) => message_id === "msg_0")).toBe(false);
  });

  test("only the item that is named leaves", () => {
    const live = resting();
    live.hear(event("message.part.removed", { ...of, messageID: "msg_0", partID: "other" }));
    expect([...live.session.snapshot().items.values()].some(({ message_id }) => message_id === "msg_0")).toBe(true);
    live.hear(event("message.part.removed", { ...of, messageID: "msg_0", partID: "msg_0-text" }));
    expect([...live.session.snapshot().items.values()].some(({ message_id }) => message_id === "msg_0")).toBe(false);
  });

  test.each(["events first", "answer first"])("a note is a message outside of turns: %s", (order) => {
    const live = resting();
    const info = { id: "msg_7", ...of, role: "user" };
    const part = { id: "prt_7", ...of, messageID: "msg_7", type: "text", text: "note" };
    const told = [event("message.updated", { ...of, info }), event("message.part.updated", { ...of, part })];
    const turns = live.of("turn.started").length;
    ask(live, note);
    if (order === "events first") live.hear(...told);
    expect(words(live)).not.toContain("user completed note");
    live.answer("/message", { body: { info, parts: [part] } });
    if (order === "answer first") live.hear(...told);
    expect(words(live).filter((said) => said === "user completed note")).toHaveLength(1);
    expect(live.of("item.completed").at(-1)?.turn_id).toBeNull();
    expect(live.of("turn.started")).toHaveLength(turns);
  });
});
