/** ACP agents in the real runtime: turns, permissions, the client side, restarts. The agent is scripted. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { acpAgents } from "../../src/adapters/acp/agents/index.ts";
import { withCommand } from "../../src/adapters/acp/generic.ts";
import { adapterFor } from "../../src/adapters/index.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";
import { type AcpLive, fakeCommand, openAcp, play } from "../support/acp-live.ts";
import { plainOptions } from "../support/launch-options.ts";
import { eventsAfter, wholeLog } from "../support/sessions.ts";

test("an edit that was approved is written, and asked about once", async () => {
  const acp = await openAcp();
  const id = await acp.create("edit");
  const file = join(acp.work, "new.txt");
  const { end, asked, events } = await play(acp, id, { steps: ["say I edit.", `edit ${file} hello`, "say Done."] });
  expect(end).toMatchObject({ reason: "completed", evidence: "signal" });
  expect(asked).toEqual([`edit ${file}`]);
  expect(readFileSync(file, "utf8")).toBe("hello");
  const result = events.findLast((event) => event.type === "item.completed" && event.data.item.kind === "tool_result");
  expect(result).toMatchObject({ data: { item: { status: "completed" } } });
  expect(end.usage.tokens).toMatchObject({ input: 10, output: 2 });
});

test("a rejected edit writes nothing, and the turn says how it ended", async () => {
  const acp = await openAcp();
  const id = await acp.create("reject");
  const file = join(acp.work, "README.md");
  const rejected = await play(acp, id, { steps: [`edit ${file} gone`], reply: "reject" });
  expect(rejected.end.reason).toBe("rejected");
  expect(readFileSync(file, "utf8")).toBe("# Demo\n");
  const spoken = await play(acp, id, { steps: [`edit ${file} gone`, "say I see."], reply: "reject" });
  expect(spoken.end.reason).toBe("completed");
});

test("always is remembered: the same edit is not asked about again", async () => {
  const acp = await openAcp();
  const id = await acp.create("always");
  const file = join(acp.work, "a.txt");
  const first = await play(acp, id, { steps: [`edit ${file} one`], reply: "always" });
  const second = await play(acp, id, { steps: [`edit ${file} two`] });
  expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
  expect(readFileSync(file, "utf8")).toBe("two");
});

test("a command in a terminal: asked for, its output and its exit code are the call's", async () => {
  const acp = await openAcp();
  const id = await acp.create("terminal");
  const { asked, events, end } = await play(acp, id, { steps: ["terminal echo out; exit 3"] });
  expect(asked).toEqual(["execute echo out; exit 3"]);
  expect(end.reason).toBe("completed");
  const results = events.filter((one) => one.type === "item.completed" && one.data.item.kind === "tool_result");
  expect(results).toMatchObject([
    { data: { item: { status: "failed", content: [{ output: "out\n", is_error: true, exit_code: 3 }] } } },
  ]);
});

test("abort ends the turn, the command and the question that is open", async () => {
  const acp = await openAcp();
  const id = await acp.create("abort", { permissionMode: "bypass" });
  const marker = join(acp.work, "survived");
  const { sequence } = await acp.sessions.prompt(id, { text: `terminal echo on; sleep 30; touch ${marker}` });
  for await (const event of eventsAfter(acp.sessions, id, { after: sequence })) {
    if (event.type === "item.started" && event.data.item.kind === "tool_result") {
      await acp.sessions.abort(id, { clearQueue: false });
    }
    if (event.type !== "turn.ended") continue;
    expect(event.data.reason).toBe("aborted");
    break;
  }
  expect((await play(acp, id, { steps: ["say Next."] })).end.reason).toBe("completed");
});

test("a form becomes questions, a plan todos", async () => {
  const acp = await openAcp();
  const id = await acp.create("form");
  const { text, events } = await play(acp, id, { steps: ["plan", "question"] });
  expect(text).toBe("accept Red");
  expect(events.find(({ type }) => type === "todo.updated")).toMatchObject({
    data: { todos: [{ content: "One", status: "pending" }] },
  });
});

test("a second prompt waits for the first, and text after the answer is a turn of its own", async () => {
  const acp = await openAcp();
  const id = await acp.create("two");
  await acp.sessions.prompt(id, { text: "say One.\nlate Later." });
  await acp.sessions.prompt(id, { text: "say Two." });
  let ended = 0;
  for await (const event of eventsAfter(acp.sessions, id)) {
    if (event.type === "turn.ended") ended += 1;
    if (ended === 2) break;
  }
  const log = await wholeLog(acp.sessions, id);
  expect(log.filter(({ type }) => type === "turn.started").length).toBeGreaterThanOrEqual(2);
  expect(log.filter((one) => one.type === "turn.ended").map((one) => one.data.reason)).toEqual([
    "completed",
    "completed",
  ]);
});

test("after its death and after a restart of the daemon the agent loads its session, and the past is said once", async () => {
  const acp = await openAcp();
  const store = join(acp.folder, "past");
  const id = await acp.create("restart", { env: { FAKE_ACP_STORE: store } });
  await play(acp, id, { steps: ["say First."] });
  const dead = await play(acp, id, { steps: ["say Second.", "die"] });
  expect(dead.end).toMatchObject({ reason: "error", evidence: "exit", error: { code: "agent_exited" } });
  expect((await play(acp, id, { steps: ["say Third."] })).end.reason).toBe("completed");
  await acp.reopen();
  expect((await play(acp, id, { steps: ["say Fourth."] })).end.reason).toBe("completed");
  const log = await wholeLog(acp.sessions, id);
  const text = log.map((one) => (one.type === "item.delta" ? one.data.delta : "")).join("");
  expect(text).toBe("First.Second.Third.Fourth.");
  expect(readFileSync(store, "utf8").split("\n").length).toBe(5);
});

test("hidden and open failures end the turn as errors", async () => {
  const acp = await openAcp();
  const id = await acp.create("errors");
  const nothing = await play(acp, id, { steps: ["stop end_turn"] });
  expect(nothing.end).toMatchObject({ reason: "error", error: { code: "empty_turn" } });
  const error = await play(acp, id, { steps: ["say Half", "error -32603 Broken"] });
  expect(error.end).toMatchObject({ reason: "error", error: { message: "Broken" } });
  expect((await play(acp, id, { steps: ["say x", "stop max_tokens"] })).end.reason).toBe("length");
  expect((await play(acp, id, { steps: ["say x", "stop refusal"] })).end.reason).toBe("refusal");
});

test("a program that is missing, wants a login, or is no ACP agent is named in the error", async () => {
  const acp = await openAcp();
  const missing = await acp.create("missing", { env: { FRANCA_ACP_COMMAND: "/no/such/agent --acp" } });
  expect((await play(acp, missing, { steps: ["say x"] })).end.error?.message).toContain("/no/such/agent");
  const login = await acp.create("login", { env: { FAKE_ACP_AUTH: "none" } });
  const refused = await play(acp, login, { steps: ["say x"] });
  expect(refused.end.error).toMatchObject({ code: "auth_required" });
  expect(refused.end.error?.message).toContain("fake login");
  const other = await acp.create("other", { env: { FRANCA_ACP_COMMAND: "sh -c 'echo hello; echo why >&2; exit 2'" } });
  const end = (await play(acp, other, { steps: ["say x"] })).end;
  expect(end).toMatchObject({ reason: "error", evidence: "exit", error: { code: "agent_exited" } });
  expect(JSON.stringify(end.error?.details)).toContain("why");
  expect(end.error?.message).toMatch(/^sh -c 'echo hello; .* ended with code 2 before it answered initialize.*why$/s);
});

test("a program that never answers is stopped, and the error has its command and its stderr", () => {
  const adapter = adapterFor("acp")?.open();
  const options = { ...plainOptions, env: { FRANCA_ACP_COMMAND: "my-agent --key sk-123" } };
  adapter?.step({ type: "connected", first: true, options, at: 0 });
  const prompt = { text: "Hi", attachments: [], prompt_id: promptId("p") };
  adapter?.step({ type: "command", command: { type: "prompt", prompt }, at: 1 });
  expect(adapter?.wakeAt()).toBe(30_000);
  expect(adapter?.step({ type: "tick", at: 30_000 })).toEqual([{ type: "send.signal", signal: "kill" }]);
  const stderr = { head: "usage: my-agent <file>\n", tail: "", total_lines: 1, truncated: false };
  expect(adapter?.explain({ code: null, signal: "SIGKILL", stderr })).toMatchObject({
    message:
      "my-agent --key … has not answered initialize within 30 s: it may be no ACP agent. Its stderr: usage: my-agent <file>",
    error_code: "timeout",
  });
});

test("a missing login says what to run and what to set", () => {
  const adapter = adapterFor("gemini")?.open();
  const sent = adapter?.step({ type: "connected", first: true, options: plainOptions, at: 0 });
  const answer = (line: object) =>
    adapter?.step({ type: "line", from: "agent", line: { jsonrpc: "2.0", ...line }, at: 1 });
  const authMethods = [
    { id: "login", type: "terminal", name: "Login with Kimi account", args: ["--login"] },
    { id: "own", name: "Log in", _meta: { "terminal-auth": { command: "copilot", args: ["login"] } } },
    { id: "words", name: "Google", description: "Log in with your Google account" },
  ];
  expect(sent).toMatchObject([{ line: { id: "s:1" } }]);
  const opening = answer({ id: "s:1", result: { protocolVersion: 1, authMethods } });
  expect(opening).toMatchObject([{ line: { id: "s:2", method: "session/new" } }]);
  expect(answer({ id: "s:2", error: { code: -32000, message: "Authentication required" } })).toMatchObject([
    {
      code: "auth_required",
      message:
        "Authentication required To log in: set GEMINI_API_KEY or GOOGLE_API_KEY; or run `gemini --acp --skip-trust --login` (Login with Kimi account); or run `copilot login` (Log in); or Log in with your Google account.",
    },
  ]);
});

test("a configured command is that of sessions that name none", async () => {
  const named = async (acp: AcpLive) => {
    await acp.sessions.create(sessionId("plain"), { agent: "acp", directory: acp.work });
    return play(acp, sessionId("plain"), { steps: ["say Here."] });
  };
  expect((await named(await openAcp({ adapters: withCommand(acpAgents, fakeCommand) }))).text).toBe("Here.");
  const { end } = await named(await openAcp());
  expect(end).toMatchObject({ reason: "error", error: { code: "invalid_request" } });
  expect(end.error?.message).toContain('--command "my-agent --acp"');
});

test("what the agent says that it can, and its slash commands, are the session's", async () => {
  const acp = await openAcp();
  const id = await acp.create("abilities");
  expect(await acp.sessions.get(id)).toMatchObject({ capabilities: { images: true, fork: false }, commands: [] });
  await play(acp, id, { steps: ["say Hi."] });
  const commands = [{ name: "compact", description: "Compacts", hint: "what to keep" }];
  expect(await acp.sessions.get(id)).toMatchObject({ capabilities: { images: true, fork: false }, commands });
  await expect(acp.sessions.fork(id, sessionId("no"))).rejects.toThrow(/branch off/);
  const other = await acp.create("two", { env: { FAKE_ACP_VERSION: "2", FRANCA_ACP_VERSION: "2" } });
  await play(acp, other, { steps: ["say Hi."] });
  expect(await acp.sessions.get(other)).toMatchObject({ capabilities: { images: false, fork: true }, commands });
});

test("version 2: the turn is what the agent's state says, whatever the answer to the prompt", async () => {
  const acp = await openAcp();
  const env = { FAKE_ACP_VERSION: "2", FRANCA_ACP_VERSION: "2" };
  const id = await acp.create("version-2", { env });
  const first = await play(acp, id, { steps: ["say One.", "say Two."] });
  expect(first).toMatchObject({ text: "One.|Two.", end: { reason: "completed", evidence: "signal" } });
  expect(first.end.usage.tokens).toMatchObject({ input: 10, output: 2 });
  const failed = await play(acp, id, { steps: ["say x", "error 400 The provider said no"] });
  expect(failed.end).toMatchObject({ reason: "error", error: { message: "The provider said no" } });
  const { sequence } = await acp.sessions.prompt(id, { text: "say Before.\nhang" });
  for await (const event of eventsAfter(acp.sessions, id, { after: sequence })) {
    if (event.type === "item.delta") await acp.sessions.abort(id, { clearQueue: false });
    if (event.type !== "turn.ended") continue;
    expect(event.data.reason).toBe("aborted");
    break;
  }
  await acp.reopen();
  expect((await play(acp, id, { steps: ["say Again."] })).text).toBe("Again.");
  const older = await acp.create("answers-1", { env: { FRANCA_ACP_VERSION: "2" } });
  expect((await play(acp, older, { steps: ["say One."] })).end.reason).toBe("completed");
});

test("an image of a prompt is sent as one", async () => {
  const acp = await openAcp();
  const id = await acp.create("image");
  const path = join(acp.work, "dot.png");
  writeFileSync(path, Buffer.from("89504e470d0a1a0a", "hex"));
  const { sequence } = await acp.sessions.prompt(id, { text: "say Look.", attachments: [{ path }] });
  let text = "";
  for await (const event of eventsAfter(acp.sessions, id, { after: sequence })) {
    if (event.type === "item.delta") text += event.data.delta;
    if (event.type === "turn.ended") break;
  }
  expect(text).toBe("Look.[image]");
});
