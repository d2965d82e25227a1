/** OpenCode as it is driven: which requests go out, and what its events and answers come to. */
import { describe, expect, test } from "vitest";
import { opencode } from "../../src/adapters/opencode/index.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import { sharingKey } from "../../src/runtime/agent/connection/shared.ts";
import { launchOptions, liveSession } from "../support/live-session.ts";
import {
  delta,
  done,
  ends,
  event,
  idle,
  message,
  of,
  part,
  prompted,
  requests,
  root,
  status,
  text,
  tool,
  user,
  words,
} from "../support/opencode-events.ts";

describe("getting a session", () => {
  test("a prompt waits until OpenCode has made one, and goes to it", () => {
    const live = liveSession(opencode);
    expect(live.prompt("hello").map(({ type }) => type)).toContain("connect");
    live.connect({ model: "lab/some/model", mode: "plan", variant: "high", system_prompt: "Be brief." });
    expect(requests(live)).toEqual([{ method: "POST", path: "/session?directory=%2Fworkspace", body: {} }]);
    live.answer("/session", { body: { id: root } });
    expect(requests(live)).toEqual([
      {
        method: "POST",
        path: `/session/${root}/prompt_async?directory=%2Fworkspace`,
        body: {
          parts: [{ type: "text", text: "hello" }],
          model: { providerID: "lab", modelID: "some/model" },
          variant: "high",
          agent: "plan",
          system: "Be brief.",
        },
      },
    ]);
    expect(live.events.at(-1)?.native_session_id).toBe(root);
  });

  test.each([
    { mode: "default" as const, body: {} },
    { mode: "bypass" as const, body: { permission: [{ permission: "*", pattern: "*", action: "allow" }] } },
  ])("permission mode $mode is a matter of the session's rules", ({ mode, body }) => {
    const live = liveSession(opencode);
    live.prompt("hello");
    live.connect({ permission_mode: mode });
    expect(requests(live).map((request) => request.body)).toEqual([body]);
  });

  test("in acceptEdits it asks about every edit, and the turn machine answers by the real path", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    live.connect({ permission_mode: "acceptEdits" });
    expect(requests(live)[0]?.body).toEqual({ permission: [{ permission: "edit", pattern: "*", action: "ask" }] });
  });

  test("rules that deny are passed on, and what rules allow is asked about", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    const rule = (permission: string, pattern: string, action: "allow" | "ask" | "deny") => ({
      permission,
      pattern,
      action,
    });
    live.connect({
      permission_rules: [rule("*", "*", "allow"), rule("bash", "git *", "allow"), rule("bash", "touch *", "deny")],
    });
    expect(requests(live)[0]?.body).toEqual({
      permission: [
        rule("*", "*", "allow"),
        rule("bash", "*", "ask"),
        rule("edit", "*", "ask"),
        rule("external_directory", "*", "ask"),
        rule("bash", "git *", "ask"),
        rule("bash", "touch *", "deny"),
      ],
    });
  });

  test("a resumed session is looked up, and gets the rules it lacks", () => {
    const live = liveSession(opencode);
    live.prompt("go on");
    live.connect({ resume: root, permission_mode: "bypass" });
    live.answer(`/session/${root}`, { body: { id: root, title: "Old", permission: [] } });
    expect(requests(live).map(({ method, path }) => `${method} ${path.split("?")[0]}`)).toEqual([
      `PATCH /session/${root}`,
      `GET /session/${root}/message`,
    ]);
    live.answer("/message", { body: [] });
    expect(requests(live).at(-1)?.path).toContain("/prompt_async");
  });

  test("a fork is made by OpenCode, and its copies of old messages are no work", () => {
    const live = liveSession(opencode);
    live.connect({ resume: "ses_old", fork: true });
    live.prompt("new words");
    live.answer("/session/ses_old/fork", { body: { id: root, time: { created: 100, updated: 100 } } });
    const info = { id: "msg_8", ...of, role: "user", time: { created: 1 } };
    live.hear(event("message.updated", { ...of, info }));
    live.hear(part({ id: "prt_8", messageID: "msg_8", type: "text", text: "old words" }));
    live.hear(message("msg_9", { time: { created: 1, completed: 2 }, finish: "stop" }));
    live.hear(text("prt_9", "msg_9", "old answer", { end: true }));
    expect(live.of("item.started")).toEqual([]);
    live.hear(...user("msg_10", "new words"), status("busy"), ...done.slice(1));
    expect(words(live)).toEqual(["user completed new words"]);
    expect(ends(live)).toEqual(["completed by signal"]);
  });

  test("a prompt that OpenCode refuses ends its turn", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    live.connect();
    live.answer("/session", { body: { id: root } });
    live.answer("/prompt_async", {
      status: 404,
      body: { name: "NotFoundError", data: { message: "Session not found" } },
    });
    expect(ends(live)).toEqual(["error by signal"]);
    expect(live.of("turn.ended")[0]?.data.error?.code).toBe("session_not_found");
  });
});

describe("launch", () => {
  test("sessions with the same environment share one server, others have their own", () => {
    const shared = (asked: Partial<LaunchOptions>): string | null => {
      const options = { ...launchOptions, ...asked };
      return sharingKey({ agent: "opencode", launch: opencode.launch(options), env: options.env });
    };
    expect(shared({})).toBe(shared({ directory: "/elsewhere", model: "lab/other" }));
    expect(shared({})).not.toBe(shared({ env: { A: "1" } }));
    expect(shared({})).not.toBe(shared({ mcp: { demo: { command: "demo" } } }));
  });

  test("MCP servers are part of its server's configuration", () => {
    const mcp = { local: { command: "demo", args: ["-x"], env: { A: "1" } }, far: { url: "http://127.0.0.1:1" } };
    const launch = opencode.launch({ ...launchOptions, mcp });
    const config = launch.kind === "http" ? launch.env?.OPENCODE_CONFIG_CONTENT : undefined;
    expect(JSON.parse(config ?? "null")).toEqual({
      mcp: {
        local: { type: "local", command: ["demo", "-x"], enabled: true, environment: { A: "1" } },
        far: { type: "remote", url: "http://127.0.0.1:1", enabled: true },
      },
    });
  });

  test("MCP servers and a configuration of the session's own would hide each other", () => {
    const env = { OPENCODE_CONFIG_CONTENT: "{}" };
    const launch = opencode.launch({ ...launchOptions, env, mcp: { demo: { command: "demo" } } });
    expect(launch).toMatchObject({ kind: "refused", code: "invalid_request" });
  });

  test("a server that runs already is used as it is", () => {
    const env = { OPENCODE_SERVER_URL: "http://127.0.0.1:4096", OPENCODE_SERVER_PASSWORD: "secret" };
    const launch = opencode.launch({ ...launchOptions, env });
    const login = { user: "opencode", password: "secret" };
    expect(launch).toMatchObject({ kind: "http", url: env.OPENCODE_SERVER_URL, login });
    const refused = opencode.launch({ ...launchOptions, env, mcp: { demo: { command: "demo" } } });
    expect(refused).toMatchObject({ kind: "refused", code: "not_supported" });
  });

  test("a model without its provider is refused", () => {
    expect(opencode.launch({ ...launchOptions, model: "gpt" })).toMatchObject({
      kind: "refused",
      code: "invalid_request",
    });
  });
});

describe("the end of a turn", () => {
  test("is the first idle after a busy; what comes later reopens nothing", () => {
    const live = prompted();
    live.hear(text("prt_1", "msg_1", ""), text("prt_1", "msg_1", "Hi.", { end: true }));
    live.hear(message("msg_1", { finish: "stop", time: { created: 1, completed: 2 } }), ...done, ...done.slice(1));
    live.hear(message("msg_1", { finish: "stop", time: { created: 1, completed: 2 } }));
    expect(ends(live)).toEqual(["completed by signal"]);
    expect(live.of("turn.started")).toHaveLength(1);
  });

  test("an idle left over from the turn before does not end the next", () => {
    const live = prompted();
    live.hear(...done);
    live.prompt("again");
    live.hear(status("idle"), idle());
    expect(ends(live)).toEqual(["completed by signal"]);
    live.hear(status("busy"), message("msg_2", { finish: "length", time: { created: 1, completed: 2 } }), ...done);
    expect(ends(live)).toEqual(["completed by signal", "length by signal"]);
  });

  test("of a prompt that another client sent is told too", () => {
    const live = prompted();
    live.hear(...done, ...user("msg_5", "from the terminal"), status("busy"), message("msg_6"), ...done.slice(1));
    expect(live.of("turn.started").map(({ data }) => data.origin)).toEqual(["user", "user"]);
    expect(words(live)).toContain("user completed from the terminal");
  });

  test("a session that OpenCode deletes is shown as such, and ends nothing but itself", () => {
    const live = prompted();
    live.hear(...done, event("session.deleted", { info: { id: root } }));
    const [deleted] = live.of("item.completed").slice(-1);
    expect(deleted?.data.item).toMatchObject({ kind: "status", content: [{ type: "status", label: "deleted" }] });
    expect(live.of("session.ended")).toEqual([]);
  });

  test("old servers have only idle, and send text with the part", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    live.connect();
    live.answer("/session", { body: { id: root } });
    live.hear(...user("msg_0", "hello"), message("msg_1"));
    live.hear(part({ id: "prt_1", messageID: "msg_1", type: "text", text: "He" }, "He"));
    live.hear(part({ id: "prt_1", messageID: "msg_1", type: "text", text: "Hello" }, "llo"));
    live.hear(message("msg_1", { finish: "stop", time: { created: 1, completed: 2 } }), idle());
    expect(live.of("item.delta").map(({ data }) => data.delta)).toEqual(["He", "llo"]);
    expect(ends(live)).toEqual(["completed by signal"]);
  });
});

describe("abort", () => {
  const aborted = { name: "MessageAbortedError", data: { message: "Aborted" } };
  const lastWords = message("msg_1", { error: aborted, time: { created: 1, completed: 2 } });

  test("ends when it is answered and the aborted message has said its last word", () => {
    const live = prompted();
    live.hear(text("prt_1", "msg_1", ""), delta("prt_1", "msg_1", "Half"));
    live.command({ type: "abort", clear_queue: false });
    live.hear(event("session.error", { ...of, error: aborted }), status("idle"), idle());
    expect(ends(live)).toEqual([]);
    live.answer("/abort", { body: true });
    live.hear(text("prt_1", "msg_1", "Half a", { end: true }), lastWords, status("idle"), idle());
    expect(ends(live)).toEqual(["aborted by signal"]);
    expect(words(live)).toContain("assistant failed Half a");
  });

  test("does not wait for words that never come", () => {
    const live = prompted();
    live.command({ type: "abort", clear_queue: false });
    live.answer("/abort", { body: true });
    live.hear(status("idle"));
    expect(ends(live)).toEqual([]);
    live.answer("/session/status", { body: {} });
    expect(ends(live)).toEqual(["aborted by signal"]);
  });

  test("before OpenCode has begun is sent with its first busy, or the prompt would run after it", () => {
    const live = liveSession(opencode);
    live.prompt("hello");
    live.connect();
    live.answer("/session", { body: { id: root } });
    live.command({ type: "abort", clear_queue: false });
    expect(requests(live).some(({ path }) => path.includes("/abort"))).toBe(false);
    live.hear(...user("msg_0", "hello"), status("busy"));
    expect(requests(live).some(({ path }) => path.includes("/abort"))).toBe(true);
  });
});

describe("items", () => {
  test("a part before its message, and a delta before its part, get a stub", () => {
    const live = prompted();
    live.hear(delta("prt_x", "msg_x", "early"), text("prt_x", "msg_x", "early bird", { end: true }));
    const [stub] = live.of("item.started").slice(-1);
    expect(stub).toMatchObject({ synthetic: true, source: "daemon", data: { item: { message_id: "msg_x" } } });
    expect(words(live)).toContain("assistant completed early bird");
    live.hear(text("prt_y", "msg_y", "no message yet"));
    const [second] = live.of("item.started").slice(-1);
    expect(second).toMatchObject({ synthetic: true, source: "daemon", data: { item: { message_id: "msg_y" } } });
  });

  test("a tool that is renamed to invalid keeps its first name", () => {
    const live = prompted();
    live.hear(tool({ status: "pending", input: {} }, { tool: "nosuch" }));
    live.hear(tool({ status: "running", input: { tool: "nosuch", error: "no" } }, { tool: "invalid" }));
    live.hear(tool({ status: "completed", input: {}, output: "Not there." }, { tool: "invalid" }));
    const parts = live.of("item.completed").flatMap(({ data }) => data.item.content);
    expect(parts).toContainEqual(expect.objectContaining({ type: "tool_call", name: "nosuch" }));
    expect(parts).toContainEqual(expect.objectContaining({ type: "tool_result", is_error: true }));
  });

  test("output that lost its beginning is told by the result alone", () => {
    const live = prompted();
    const running = (output: string) => tool({ status: "running", input: { command: "x" }, metadata: { output } });
    live.hear(running("ab"), running("abc"), running("bcd"), running("bcde"));
    live.hear(tool({ status: "completed", input: { command: "x" }, output: "abcde", metadata: { exit: 2 } }));
    expect(live.of("item.delta").map(({ data }) => data.delta)).toEqual(["ab", "c", "e"]);
    const result = live.of("item.completed").at(-1)?.data.item.content[0];
    expect(result).toMatchObject({ output: "abcde", is_error: true, exit_code: 2 });
  });

  test("the same call id in two messages is two calls", () => {
    const live = prompted();
    const finished = { status: "completed", input: { command: "x" }, output: "one" };
    live.hear(tool(finished), message("msg_2"), tool(finished, { id: "prt_other", messageID: "msg_2" }));
    expect(live.of("item.completed").filter(({ data }) => data.item.kind === "tool_result")).toHaveLength(2);
  });

  test("a stream that breaks leaves its text as failed, and the next try is a new item", () => {
    const live = prompted();
    live.hear(text("prt_1", "msg_1", ""), delta("prt_1", "msg_1", "Brok"));
    live.hear(event("session.status", { ...of, status: { type: "retry", attempt: 1, message: "gone", next: 99_000 } }));
    live.hear(status("busy"), text("prt_2", "msg_1", ""), text("prt_2", "msg_1", "Whole.", { end: true }));
    expect(words(live).slice(-2)).toEqual(["assistant failed Brok", "assistant completed Whole."]);
    expect(live.of("turn.state").map(({ data }) => data.state)).toEqual(["retrying", "running"]);
  });

  test("a rule of the configuration that says no is no permission, but a status tells it", () => {
    const live = prompted();
    const error = "The user has specified a rule which prevents you from using this specific tool call. Rules: []";
    live.hear(tool({ status: "error", input: { command: "x" }, error }));
    expect(live.of("permission.requested")).toEqual([]);
    expect(
      live
        .of("item.completed")
        .map(({ data }) => `${data.item.kind} ${data.item.status}`)
        .slice(-2),
    ).toEqual(["tool_result failed", "status completed"]);
  });

  test("files that a command changed are told once, by the patch of its step", () => {
    const live = prompted();
    const input = { filePath: "a.txt", content: "" };
    const metadata = { filepath: "/workspace/a.txt", exists: false };
    live.hear(tool({ status: "completed", input, output: "ok", metadata }, { tool: "write" }));
    const files = ["/workspace/a.txt", "/workspace/b.txt"];
    live.hear(part({ id: "prt_patch", messageID: "msg_1", type: "patch", hash: "h", files }));
    const told = live.of("item.completed").flatMap(({ data }) => data.item.content);
    expect(told.flatMap((one) => (one.type === "file_ref" ? [one.path] : []))).toEqual(files);
  });
});
