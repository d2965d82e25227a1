/** Sessions from the outside, with a real process behind them, on both logs. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { endOf, open, removeFolder, session, spoken, tempFolder, turn, until, wholeLog } from "../support/sessions.ts";

const id = session("s1");

describe.each(["memory", "sqlite"] as const)("sessions on the %s log", (store) => {
  let folder: string;
  let sessions: Sessions;

  beforeEach(async () => {
    folder = tempFolder();
    sessions = await open(store === "memory" ? null : folder);
    await sessions.create(id, { agent: "fake", directory: folder, title: "First" });
  });
  afterEach(async () => {
    await sessions.close();
    removeFolder(folder);
  });

  test("a prompt becomes a turn, and the log holds all of it without a gap", async () => {
    const events = await turn(sessions, id, "echo hello");
    expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
    expect(spoken(events)).toBe("hello");
    const log = await wholeLog(sessions, id);
    expect(log.slice(-events.length)).toEqual(events);
    const detail = await sessions.get(id);
    expect(detail).toMatchObject({ status: "idle", title: "First", lastSequence: log.length, turnId: null });
    expect(detail.items.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("native lines of both directions are stored once each, and events can be read with them", async () => {
    await turn(sessions, id, "echo hello");
    const { lines } = await sessions.native(id, { offset: 0, limit: 100 });
    expect(lines.map(({ line }) => line)).toEqual(lines.map((_, index) => index + 1));
    expect(lines.filter(({ from }) => from === "host").map(({ native }) => native)).toEqual([
      { type: "prompt", text: "echo hello" },
    ]);
    const { events } = await sessions.events(id, { offset: 0, limit: 100, includeRaw: true });
    const said = events.find((event) => event.type === "item.completed" && event.data.item.role === "user");
    expect(said).toMatchObject({ source: "daemon", synthetic: true, raw: { text: "echo hello" } });
    const delta = events.find(({ type }) => type === "item.delta");
    expect(delta?.raw).toMatchObject({ type: "text", delta: "hello" });
    const plain = await sessions.events(id, { offset: 0, limit: 100, includeRaw: false });
    expect(plain.events.every(({ raw }) => raw === null)).toBe(true);
  });

  test("prompts sent while busy run in order; an idempotency key runs once", async () => {
    const first = await sessions.prompt(id, { text: "ask" });
    const second = await sessions.prompt(id, { text: "echo two", idempotencyKey: "k" });
    const again = await sessions.prompt(id, { text: "echo two", idempotencyKey: "k" });
    expect(again).toEqual({ ...second, fresh: false });
    const asked = await until(sessions, id, { type: "permission.requested", after: first.sequence });
    expect((await sessions.get(id)).queue.map(({ prompt_id }) => prompt_id)).toEqual([second.promptId]);
    await sessions.replyPermission(id, asked.data.permission_id, { reply: "once" });
    await expect(sessions.replyPermission(id, asked.data.permission_id, { reply: "reject" })).rejects.toMatchObject({
      code: "already_answered",
    });
    const ended = await until(sessions, id, { type: "turn.ended", after: asked.sequence });
    await until(sessions, id, { type: "turn.ended", after: ended.sequence });
    const log = await wholeLog(sessions, id);
    const prompts = log.flatMap((event) => (event.type === "turn.started" ? [event.data.prompt_id] : []));
    expect(prompts).toEqual([first.promptId, second.promptId]);
  });

  test("a queue is bounded; what it has is given again, and there is room when one was dropped", async () => {
    await sessions.prompt(id, { text: "ask" });
    const waiting = [];
    for (let index = 0; index < 100; index += 1) {
      waiting.push(await sessions.prompt(id, { text: `echo ${index}`, idempotencyKey: `k${index}` }));
    }
    const full = { text: "echo more", idempotencyKey: "more" };
    await expect(sessions.prompt(id, full)).rejects.toMatchObject({ code: "session_busy" });
    const [first] = waiting;
    expect(await sessions.prompt(id, { text: "echo 0", idempotencyKey: "k0" })).toEqual({ ...first, fresh: false });
    if (first === undefined) throw new Error("There is one.");
    await sessions.dropQueued(id, first.promptId);
    expect(await sessions.prompt(id, full)).toMatchObject({ fresh: true });
    expect((await sessions.get(id)).queue).toHaveLength(100);
  });

  test("what a caller gets wrong is refused with a code", async () => {
    const unknown = session("nobody");
    await expect(sessions.get(unknown)).rejects.toMatchObject({ code: "session_not_found" });
    await expect(sessions.prompt(unknown, { text: "" })).rejects.toMatchObject({ code: "session_not_found" });
    await expect(sessions.create(id, { agent: "fake" })).rejects.toMatchObject({ code: "session_already_exists" });
    await expect(sessions.create(unknown, { agent: "none" })).rejects.toMatchObject({ code: "unsupported_agent" });
    const nowhere = { agent: "fake", directory: `${folder}/nowhere` };
    await expect(sessions.create(unknown, nowhere)).rejects.toMatchObject({ code: "directory_not_found" });
    const plan = { agent: "fake", permissionMode: "plan" as const };
    await expect(sessions.create(unknown, plan)).rejects.toMatchObject({ code: "mode_not_supported" });
    await expect(sessions.compact(id)).rejects.toMatchObject({ code: "not_supported" });
    await expect(sessions.replyPermission(id, "s1:p9", { reply: "once" })).rejects.toMatchObject({
      code: "permission_not_found",
    });
    const attached = { text: "look", attachments: [{ path: "missing.png" }] };
    await expect(sessions.prompt(id, attached)).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("a crash ends the turn with what the process left, and the next prompt starts the agent again", async () => {
    const events = await turn(sessions, id, "crash 7");
    expect(endOf(events)).toEqual({ reason: "error", evidence: "exit" });
    const ended = events.at(-1);
    expect(ended).toMatchObject({
      data: { error: { code: "agent_exited", details: { exit_code: 7, stderr: { head: "It all went wrong.\n" } } } },
    });
    const native = (await sessions.get(id)).nativeSessionId;
    expect(spoken(await turn(sessions, id, "echo again"))).toBe("again");
    expect((await sessions.get(id)).nativeSessionId).toBe(native);
  });

  test("the end of a session says how its agent's process ended, where one had", async () => {
    await turn(sessions, id, "crash 7");
    await sessions.terminate(id);
    const ended = await until(sessions, id, { type: "session.ended" });
    expect(ended.data).toMatchObject({ exit_code: 7, stderr: { head: "It all went wrong.\n" } });
  });

  test("after terminate it can be read and takes nothing more; after delete it is gone and its readers are done", async () => {
    await turn(sessions, id, "echo hello");
    await sessions.terminate(id);
    await expect(sessions.prompt(id, { text: "more" })).rejects.toMatchObject({ code: "session_ended" });
    const log = await wholeLog(sessions, id);
    expect(log.filter(({ type }) => type === "session.ended")).toHaveLength(1);
    expect(log.at(-1)?.type).toBe("session.ended");
    const reader = (async () => {
      let last = 0;
      for await (const group of sessions.follow(id, { after: 0, signal: new AbortController().signal })) {
        last = group.last;
      }
      return last;
    })();
    await until(sessions, id, { type: "session.ended" });
    await sessions.delete(id);
    expect(await reader).toBe(log.length);
    await expect(sessions.get(id)).rejects.toMatchObject({ code: "session_not_found" });
    await sessions.create(id, { agent: "fake", directory: folder });
    expect((await sessions.get(id)).lastSequence).toBe(1);
  });

  test("an agent with nothing to do is stopped, and resumed by its native id on the next prompt", async () => {
    await sessions.close();
    removeFolder(folder);
    sessions = await open(store === "memory" ? null : folder, { idleMs: 50 });
    const quick = session("idle");
    await sessions.create(quick, { agent: "fake", directory: process.cwd() });
    await turn(sessions, quick, "echo one");
    const native = (await sessions.get(quick)).nativeSessionId;
    // Its process ends by itself: the native line of its exit says so.
    for (;;) {
      const { lines } = await sessions.native(quick, { offset: 0, limit: 100 });
      if (lines.some(({ from }) => from === "process")) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const events = await turn(sessions, quick, "echo two");
    expect(spoken(events)).toBe("two");
    expect((await sessions.get(quick)).nativeSessionId).toBe(native);
    const log = await wholeLog(sessions, quick);
    expect(log.filter(({ type }) => type === "turn.ended")).toHaveLength(2);
  });
});
