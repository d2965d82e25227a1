/** What the Codex adapter says: handshakes, turns, aborts, and answers to every kind of request. */
import { describe, expect, test } from "vitest";
import { codex } from "../../src/adapters/codex/index.ts";
import { promptId } from "../../src/protocol/ids.ts";
import { live, methods, prompt, THREAD, threadResult } from "../support/codex.ts";
import { liveSession } from "../support/live-session.ts";

describe("the handshake", () => {
  test("initializes a fresh process, starts a thread, and only then says the prompt", () => {
    const agent = live();
    agent.told(prompt("hello"));
    expect(methods(agent.sends)).toEqual(["initialize"]);
    agent.answers("initialize", { codexHome: "x" });
    expect(methods(agent.sends)).toEqual(["initialize", "initialized", "thread/start"]);
    agent.answers("thread/start", threadResult);
    expect(methods(agent.sends).at(-1)).toBe("turn/start");
    expect(agent.last("turn/start").params).toMatchObject({
      threadId: THREAD,
      input: [{ type: "text", text: "hello", text_elements: [] }],
    });
    expect(agent.reports).toMatchObject([{ type: "session", native_session_id: THREAD }]);
    expect(agent.sends.every(({ id }) => id === undefined || String(id).startsWith("s1:"))).toBe(true);
  });

  test("joins a process that is in use without introducing itself again", () => {
    const agent = live({}, { first: false });
    expect(methods(agent.sends)).toEqual(["thread/start"]);
  });

  test("introduces itself after all when the process was not initialized", () => {
    const agent = live({}, { first: false });
    agent.refuses("thread/start", "Not initialized");
    expect(methods(agent.sends).at(-1)).toBe("initialize");
    agent.refuses("initialize", "Already initialized");
    expect(methods(agent.sends).at(-1)).toBe("thread/start");
  });

  test.each([
    [{ resume: "old" }, "thread/resume", { threadId: "old", excludeTurns: true }],
    [{ resume: "old", fork: true }, "thread/fork", { threadId: "old", excludeTurns: true }],
    [{ permission_mode: "bypass" }, "thread/start", { approvalPolicy: "never", sandbox: "danger-full-access" }],
    [{ permission_mode: "default" }, "thread/start", { approvalPolicy: "on-request", sandbox: "workspace-write" }],
    [{ permission_mode: "acceptEdits" }, "thread/start", { approvalPolicy: "on-request", sandbox: "workspace-write" }],
    [{ permission_mode: "plan" }, "thread/start", { approvalPolicy: "on-request", sandbox: "read-only" }],
    [{ model: "m", variant: "high" }, "thread/start", { model: "m", config: { model_reasoning_effort: "high" } }],
    [{ system_prompt: "be kind" }, "thread/start", { developerInstructions: "be kind" }],
    [
      { mcp: { a: { command: "x", args: ["y"] }, b: { url: "http://127.0.0.1/", headers: { k: "v" } } } },
      "thread/start",
      {
        config: {
          mcp_servers: { a: { command: "x", args: ["y"] }, b: { url: "http://127.0.0.1/", http_headers: { k: "v" } } },
        },
      },
    ],
  ] as const)("asks for %j", (asked, method, params) => {
    const agent = live(asked);
    agent.answers("initialize", {});
    expect(agent.last(method).params).toMatchObject({ cwd: "/workspace", ...params });
  });

  test("says no model when none is asked for", () => {
    const agent = live();
    agent.answers("initialize", {});
    expect(agent.last("thread/start").params).not.toHaveProperty("model");
  });

  test("a thread that cannot be had ends the turn that waits for it; the next prompt tries again", () => {
    const agent = live({ resume: "gone" });
    agent.told(prompt("hello"));
    agent.answers("initialize", {});
    agent.refuses("thread/resume", "no rollout found for thread id gone");
    const error = { code: "native_session_not_found" };
    expect(agent.reports).toMatchObject([{ type: "end", reason: "error", error }]);
    agent.told(prompt("again"));
    expect(methods(agent.sends).at(-1)).toBe("thread/resume");
  });

  test("a thread that another Codex has open is told as such", () => {
    const agent = live({ resume: "busy" });
    agent.told(prompt("hello"));
    agent.answers("initialize", {});
    agent.refuses("thread/resume", "thread busy already has an active writer");
    expect(agent.reports.at(-1)).toMatchObject({ type: "end", error: { code: "native_session_in_use" } });
  });

  test("an answer that never comes is waited for a minute, and no longer", () => {
    const { session, connect, prompt: say, events, wait } = liveSession(codex, { watchdogMs: 3_600_000 });
    say("hello");
    connect();
    const started = events.find(({ type }) => type === "turn.started")?.time ?? "";
    const due = session.wakeAt() ?? 0;
    expect(due - Date.parse(started)).toBeLessThanOrEqual(60_001);
    wait(60_000);
    expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "error", error: { code: "timeout" } } });
    expect(session.wakeAt()).toBeNull();
  });

  test("an answer that never comes is given up at a tick", () => {
    const agent = live();
    agent.told(prompt("hello"));
    agent.step({ type: "tick" }, 3_600_000);
    expect(agent.reports).toMatchObject([{ type: "end", reason: "error", error: { code: "timeout" } }]);
  });
});

describe("a turn", () => {
  test("that Codex will not begin ends with its words", () => {
    const agent = live();
    agent.ready();
    agent.told(prompt("go"));
    agent.refuses("turn/start", "Invalid request");
    expect(agent.reports.at(-1)).toMatchObject({ type: "end", reason: "error", error: { message: "Invalid request" } });
  });

  test("is steered only by the steer command, with the turn it means", () => {
    const agent = live();
    agent.turn("turn-1");
    agent.told({ type: "steer", prompt: { prompt_id: promptId("p2"), text: "also", attachments: [] } });
    expect(agent.last("turn/steer").params).toMatchObject({ threadId: THREAD, expectedTurnId: "turn-1" });
  });

  test("carries what was changed since the thread was opened", () => {
    const agent = live();
    agent.ready();
    agent.told({ type: "set", change: { model: "m2", variant: "low", permission_mode: "plan", mode: "plan" } });
    agent.told(prompt("go"));
    expect(agent.last("turn/start").params).toMatchObject({
      model: "m2",
      effort: "low",
      approvalPolicy: "on-request",
      sandboxPolicy: { type: "readOnly" },
      collaborationMode: { mode: "plan", settings: { model: "m2", reasoning_effort: "low" } },
    });
  });

  test("takes images as such and names other files", () => {
    const agent = live();
    agent.ready();
    const attachments = [{ path: "/a.png" }, { path: "/b.bin", mime: "image/webp" }, { path: "/c.txt" }];
    agent.told({ type: "prompt", prompt: { prompt_id: promptId("p"), text: "look", attachments } });
    expect(agent.last("turn/start").params).toMatchObject({
      input: [
        { type: "text", text: "look" },
        { type: "localImage", path: "/a.png" },
        { type: "localImage", path: "/b.bin" },
        { type: "text", text: "Attached file: /c.txt" },
      ],
    });
  });

  test.each([
    ["compact", { type: "compact" }, "thread/compact/start", { threadId: THREAD }],
    ["shell", { type: "shell", command: "ls" }, "thread/shellCommand", { threadId: THREAD, command: "ls" }],
  ] as const)("%s is said in Codex's words", (_name, command, method, params) => {
    const agent = live();
    agent.ready();
    agent.told(command);
    expect(agent.last(method).params).toEqual(params);
  });
});

describe("abort", () => {
  test("interrupts the turn and cleans up the commands it leaves, twice", () => {
    const agent = live();
    agent.turn("turn-1");
    agent.told({ type: "abort" });
    expect(methods(agent.sends).slice(-2)).toEqual(["turn/interrupt", "thread/backgroundTerminals/clean"]);
    expect(agent.last("turn/interrupt").params).toEqual({ threadId: THREAD, turnId: "turn-1" });
    agent.hears({
      method: "turn/completed",
      params: { threadId: THREAD, turn: { id: "turn-1", status: "interrupted" } },
    });
    expect(agent.reports.at(-1)).toEqual({ type: "end", reason: "aborted" });
    expect(methods(agent.sends).at(-1)).toBe("thread/backgroundTerminals/clean");
  });

  test("before Codex named the turn, interrupts as soon as it does", () => {
    const agent = live();
    agent.ready();
    agent.told(prompt("go"));
    agent.told({ type: "abort" });
    expect(methods(agent.sends)).not.toContain("turn/interrupt");
    agent.answers("turn/start", { turn: { id: "turn-9", status: "inProgress" } });
    expect(agent.last("turn/interrupt").params).toEqual({ threadId: THREAD, turnId: "turn-9" });
  });

  test("before the thread is there, the prompt is never said", () => {
    const agent = live();
    agent.told(prompt("go"));
    agent.told({ type: "abort" });
    expect(agent.reports).toEqual([{ type: "end", reason: "aborted" }]);
    agent.ready();
    expect(methods(agent.sends)).not.toContain("turn/start");
  });

  test("reaches the agents that were spawned, and only the own turn's refusal is an end", () => {
    const agent = live();
    agent.turn("turn-1");
    const item = { type: "collabAgentToolCall", id: "c1", tool: "spawnAgent", prompt: "go", agentsStates: {} };
    const done = { ...item, status: "completed", receiverThreadIds: ["child"] };
    agent.hears({ method: "item/completed", params: { ...here, item: done } });
    agent.hears({
      method: "turn/started",
      params: { threadId: "child", turn: { id: "turn-c", status: "inProgress", rootTurnId: "turn-1" } },
    });
    agent.told({ type: "abort" });
    const interrupted = agent.sends.filter(({ method }) => method === "turn/interrupt");
    expect(interrupted.map(({ params }) => params)).toEqual([
      { threadId: THREAD, turnId: "turn-1" },
      { threadId: "child", turnId: "turn-c" },
    ]);
    agent.refuses("turn/interrupt", "no active turn to interrupt");
    expect(agent.reports.filter(({ type }) => type === "end")).toEqual([]);
  });

  test("when the turn ended in the meantime is still an end", () => {
    const agent = live();
    agent.turn("turn-1");
    agent.told({ type: "abort" });
    agent.refuses("turn/interrupt", "no active turn to interrupt");
    expect(agent.reports.at(-1)).toEqual({ type: "end", reason: "aborted" });
  });
});

const here = { threadId: THREAD, turnId: "turn-1" };
const command = { ...here, itemId: "c1", command: "/bin/bash -lc 'rm x'", cwd: "/workspace" };
const legacy = { conversationId: THREAD, callId: "c1" };
const question = { id: "q1", header: "H", question: "Which?", options: [{ label: "A", description: "a" }] };
const form = { type: "object", properties: { bird: { type: "string", enum: ["heron"] }, count: { type: "integer" } } };
const elicit = { ...here, serverName: "demo", mode: "form", message: "Tell me" };
const permissions = { fileSystem: { write: ["/etc"] }, network: null };

describe("requests of Codex's", () => {
  const once = { type: "permission.reply", reply: "once" } as const;
  const reject = { type: "permission.reply", reply: "reject", message: "not now" } as const;
  const abort = { type: "abort" } as const;
  test.each([
    ["item/commandExecution/requestApproval", command, once, { decision: "accept" }],
    ["item/commandExecution/requestApproval", command, reject, { decision: "decline" }],
    ["item/commandExecution/requestApproval", command, abort, { decision: "cancel" }],
    ["item/fileChange/requestApproval", { ...here, itemId: "c1" }, once, { decision: "accept" }],
    ["item/fileChange/requestApproval", { ...here, itemId: "c1" }, abort, { decision: "cancel" }],
    ["execCommandApproval", { ...legacy, command: ["ls"], cwd: "/" }, once, { decision: "approved" }],
    ["applyPatchApproval", { ...legacy, fileChanges: { "/a": {} } }, reject, { decision: "denied" }],
    ["applyPatchApproval", { ...legacy, fileChanges: { "/a": {} } }, abort, { decision: "abort" }],
    [
      "item/permissions/requestApproval",
      { ...here, itemId: "c1", cwd: "/", permissions },
      once,
      { permissions, scope: "turn" },
    ],
    ["item/permissions/requestApproval", { ...here, itemId: "c1", cwd: "/", permissions }, reject, { permissions: {} }],
    [
      "item/tool/requestUserInput",
      { ...here, itemId: "c1", questions: [question, { ...question, id: "q2" }] },
      { type: "question.reply", answers: [["A"], ["my own"]] } as const,
      { answers: { q1: { answers: ["A"] }, q2: { answers: ["my own"] } } },
    ],
    [
      "item/tool/requestUserInput",
      { ...here, itemId: "c1", questions: [question] },
      { type: "question.reject" } as const,
      { answers: { q1: { answers: [] } } },
    ],
    [
      "mcpServer/elicitation/request",
      { ...elicit, requestedSchema: form },
      { type: "question.reply", answers: [["heron"], ["7"]] } as const,
      { action: "accept", content: { bird: "heron", count: 7 } },
    ],
    [
      "mcpServer/elicitation/request",
      { ...elicit, requestedSchema: form },
      { type: "question.reject" } as const,
      { action: "decline", content: null },
    ],
    ["mcpServer/elicitation/request", { ...elicit, requestedSchema: form }, abort, { action: "cancel", content: null }],
    [
      "mcpServer/elicitation/request",
      { ...elicit, requestedSchema: {}, _meta: { persist: ["session", "always"] } },
      once,
      { action: "accept", content: {} },
    ],
    [
      "mcpServer/elicitation/request",
      { ...elicit, mode: "url", url: "http://127.0.0.1/login", requestedSchema: undefined },
      reject,
      { action: "decline", content: null },
    ],
  ])("%s is answered in its own words, once", (method, params, given, result) => {
    const agent = live();
    agent.turn("turn-1");
    agent.hears({ id: 0, method, params });
    const asked = agent.reports.at(-1);
    if (asked?.type !== "permission" && asked?.type !== "question") throw new Error(`Not asked: ${asked?.type}`);
    const say = (): void => agent.told(given.type === "abort" ? given : { ...given, key: asked.key });
    say();
    expect(agent.sends.filter(({ id }) => id === 0)).toEqual([{ id: 0, result }]);
    say();
    expect(agent.sends.filter(({ id }) => id === 0)).toHaveLength(1);
  });

  test("a command is shown without its shell, a patch with its files", () => {
    const agent = live();
    agent.turn("turn-1");
    agent.hears({ id: 0, method: "item/commandExecution/requestApproval", params: command });
    expect(agent.reports.at(-1)).toMatchObject({
      action: "shell",
      call_id: "c1",
      requested: { kind: "command", command: "rm x" },
    });
    const change = { path: "/workspace/a", kind: { type: "add" }, diff: "x\n" };
    const item = { type: "fileChange", id: "c2", status: "inProgress", changes: [change] };
    agent.hears({ method: "item/started", params: { ...here, item } });
    agent.hears({ id: 1, method: "item/fileChange/requestApproval", params: { ...here, itemId: "c2" } });
    expect(agent.reports.at(-1)).toMatchObject({
      action: "apply_patch",
      call_id: "c2",
      requested: { kind: "paths", access: "write", paths: ["/workspace/a"] },
    });
  });

  test("what Codex drops is rejected, and an answer after that is not sent", () => {
    const agent = live();
    agent.turn("turn-1");
    agent.hears({ id: 5, method: "item/commandExecution/requestApproval", params: command });
    const asked = agent.reports.at(-1);
    if (asked?.type !== "permission") throw new Error("Not asked");
    agent.hears({ method: "serverRequest/resolved", params: { threadId: THREAD, requestId: 5 } });
    expect(agent.reports.at(-1)).toEqual({ type: "permission.answered", key: asked.key, reply: "reject" });
    agent.told({ type: "permission.reply", key: asked.key, reply: "once" });
    expect(agent.sends.filter(({ id }) => id === 5)).toEqual([]);
  });

  test.each(["account/chatgptAuthTokens/refresh", "attestation/generate", "something/new"])(
    "%s is refused with an error, so that Codex never waits",
    (method) => {
      const agent = live();
      agent.turn("turn-1");
      agent.hears({ id: 3, method, params: { threadId: THREAD } });
      expect(agent.sends.at(-1)).toMatchObject({ id: 3, error: { code: -32601 } });
      expect(agent.reports.at(-1)).toMatchObject({ type: "error", code: "request_refused", fatal: false });
    },
  );

  test("a tool of ours is refused to the model, because we offer none", () => {
    const agent = live();
    agent.turn("turn-1");
    agent.hears({ id: 4, method: "item/tool/call", params: { ...here, callId: "c1", tool: "x", arguments: {} } });
    expect(agent.sends.at(-1)).toMatchObject({ id: 4, result: { success: false } });
  });
});

test("a notification we do not know, or that lacks what it must carry, is unparsed", () => {
  const agent = live();
  agent.turn("turn-1");
  agent.hears({ method: "turn/exploded", params: { threadId: THREAD } });
  expect(agent.reports.at(-1)).toMatchObject({ type: "unparsed" });
  agent.hears({ method: "item/started", params: { ...here, item: { type: "hologram", id: "h" } } });
  expect(agent.reports.at(-1)).toMatchObject({ type: "unparsed" });
});
