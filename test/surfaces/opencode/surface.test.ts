/**
 * OpenCode's API over the real daemon with the scripted agent: every answer in OpenCode's shape, every promise kept.
 */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { sessionId } from "../../../src/protocol/ids.ts";
import { allSessions } from "../../../src/runtime/session/every-session.ts";
import { operations } from "../../../src/server/opencode/operations.ts";
import { misfits, openCodeProblems, openCodeSchema } from "../../support/dialects.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { openBeside } from "../../support/opencode-beside.ts";
import { isIdle, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

const fits = (schema: string, value: unknown): void => {
  const validate = openCodeSchema(schema);
  validate(value);
  expect(validate.errors ?? [], `${schema}: ${JSON.stringify(value).slice(0, 300)}`).toEqual([]);
};

// Compiled before any test is watched for a blocked event loop: this takes seconds on a busy machine.
const events = [
  ...["SessionCreated", "SessionUpdated", "SessionDiff", "SessionStatus", "SessionIdle", "SessionError"],
  ...["MessageUpdated", "MessagePartUpdated", "MessagePartDelta", "TodoUpdated"],
];
for (const name of ["Session", "Message", "Part", "Todo", "AssistantMessage", ...events.map((one) => `Event${one}`)]) {
  openCodeSchema(name);
}

describe("a turn", () => {
  test("is told once, in order, and the held request answers after its idle", async () => {
    const { api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    const { body: session } = await api.post("/session", {});
    fits("Session", session);
    const { status, body } = await api.post(`/session/${session.id}/message`, text("tool"));
    expect(status).toBe(200);
    fits("AssistantMessage", body.info);
    for (const part of body.parts) fits("Part", part);
    expect(body.info.finish).toBe("stop");
    await listener.until(isIdle(session.id));
    const told = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
    expect(told.flatMap(misfits)).toEqual([]);
    expect(openCodeProblems(told)).toEqual([]);
    expect(told.filter(isIdle(session.id))).toHaveLength(1);
    expect(told.at(-1)?.type).toBe("session.idle");
    const tools = body.parts.filter((part: { type: string }) => part.type === "tool");
    expect(tools.map((part: { tool: string }) => part.tool)).toEqual(["read", "edit"]);
    expect(tools[1].state.metadata.filediff.additions).toBe(1);
  });

  test("can be read again: messages, one message, todos, children, diff, status", async () => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", { title: "named" });
    expect(session.title).toBe("named");
    await api.post(`/session/${session.id}/message`, text("subagent"));
    await api.post(`/session/${session.id}/message`, text("todo"));
    const { body: messages } = await api.get(`/session/${session.id}/message`);
    for (const { info, parts } of messages) {
      fits("Message", info);
      for (const part of parts) fits("Part", part);
    }
    expect(messages.map(({ info }: { info: { role: string } }) => info.role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    // Prompts name what was chosen, which can be chosen again; answers name what answered.
    expect(messages[0].info.model).toEqual({ providerID: "mock", modelID: "default" });
    expect(messages[1].info.modelID).toBe("mock-1");
    const { body: last } = await api.get(`/session/${session.id}/message?limit=1`);
    expect(last).toEqual(messages.slice(-1));
    const { body: one } = await api.get(`/session/${session.id}/message/${messages[0].info.id}`);
    expect(one).toEqual(messages[0]);
    const { body: todos } = await api.get(`/session/${session.id}/todo`);
    expect(todos.length).toBeGreaterThan(0);
    for (const todo of todos) fits("Todo", todo);
    const { body: children } = await api.get(`/session/${session.id}/children`);
    expect(children).toHaveLength(1);
    expect(children[0].parentID).toBe(session.id);
    const { body: child } = await api.get(`/session/${children[0].id}`);
    expect(child).toEqual(children[0]);
    const { body: inside } = await api.get(`/session/${children[0].id}/message`);
    expect(inside.map(({ info }: { info: { role: string } }) => info.role)).toEqual(["user", "assistant"]);
    expect(inside[0].parts[0].text).toBe("List the files of the project.");
    expect((await api.get("/session/status")).body).toEqual({});
    const { body: listed } = await api.get("/session?roots=true");
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([session.id]);
  });

  test("keeps the client's message id, and does not run the same message twice", async () => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", {});
    const prompt = { messageID: "msg_0123456789abABCDEFGHIJKLMN", ...text("echo once") };
    await api.post(`/session/${session.id}/message`, prompt);
    expect((await api.post(`/session/${session.id}/prompt_async`, prompt)).status).toBe(204);
    const { body: messages } = await api.get(`/session/${session.id}/message`);
    expect(messages).toHaveLength(2);
    expect(messages[0].info.id).toBe(prompt.messageID);
    expect(messages[1].info.parentID).toBe(prompt.messageID);
  });

  test("is aborted: the answer comes when it is over, with one error and one idle", async () => {
    const { api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    const { body: session } = await api.post("/session", {});
    expect((await api.post(`/session/${session.id}/prompt_async`, text("hang"))).status).toBe(204);
    await listener.until((event) => event.type === "session.status" && event.properties.status.type === "busy");
    expect((await api.get("/session/status")).body).toEqual({ [session.id]: { type: "busy" } });
    expect((await api.post(`/session/${session.id}/abort`)).body).toBe(true);
    expect((await api.get("/session/status")).body).toEqual({});
    await listener.until(isIdle(session.id));
    const told = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
    expect(told.filter(({ type }) => type === "session.error")).toHaveLength(1);
    expect(openCodeProblems(told)).toEqual([]);
    // Idle: nothing happens, and nothing is told.
    const count = listener.heard.length;
    expect((await api.post(`/session/${session.id}/abort`)).body).toBe(true);
    expect(listener.heard).toHaveLength(count);
  });

  test("a compaction is a summary and session.compacted", async () => {
    const { api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    const { body: session } = await api.post("/session", {});
    await api.post(`/session/${session.id}/message`, text("echo long talk"));
    const { body } = await api.post(`/session/${session.id}/summarize`, { providerID: "mock", modelID: "default" });
    expect(body).toBe(true);
    expect(listener.heard.some(({ event }) => event.type === "session.compacted")).toBe(true);
  });
});

describe("requests", () => {
  test("a permission is listed, answered once; the second answer is a conflict, an unknown one 404", async () => {
    const { api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    const { body: session } = await api.post("/session", {});
    const held = api.post(`/session/${session.id}/message`, text("permission"));
    const asked = await listener.until(({ type }) => type === "permission.asked");
    expect(misfits(asked)).toEqual([]);
    const { body: pending } = await api.get("/permission");
    expect(pending).toHaveLength(1);
    fits("PermissionRequest", pending[0]);
    const { id } = pending[0];
    expect((await api.post(`/permission/${id}/reply`, { reply: "once" })).body).toBe(true);
    const again = await api.post(`/permission/${id}/reply`, { reply: "reject" });
    expect(again.status).toBe(409);
    fits("ConflictError", again.body);
    const unknown = await api.post("/permission/per_unknown/reply", { reply: "once" });
    expect(unknown.status).toBe(404);
    fits("PermissionNotFoundError", unknown.body);
    const second = await listener.until((event) => event.type === "permission.asked" && event.properties.id !== id);
    if (second.type !== "permission.asked") throw new Error("not a permission");
    expect(second.properties.metadata?.diff).toContain("+- All tests pass.");
    const old = await api.post(`/session/${session.id}/permissions/${second.properties.id}`, { response: "reject" });
    expect(old.body).toBe(true);
    expect((await held).status).toBe(200);
    expect((await api.get("/permission")).body).toEqual([]);
  });

  test("a client that comes late is told what waits, on both streams", async () => {
    const { api, base, directory } = await openSurface();
    const first = await listen(base, { directory });
    const { body: session } = await api.post("/session", {});
    await api.post(`/session/${session.id}/prompt_async`, text("question"));
    const asked = await first.until(({ type }) => type === "question.asked");
    for (const path of ["/event", "/global/event"] as const) {
      const late = await listen(base, { directory, path });
      const again = await late.until(({ type }) => type === "question.asked");
      expect(again.properties).toEqual(asked.properties);
    }
    const { body: questions } = await api.get("/question");
    fits("QuestionRequest", questions[0]);
    const answers = [["TypeScript"], ["Lint"]];
    expect((await api.post(`/question/${questions[0].id}/reply`, { answers })).body).toBe(true);
    await first.until(isIdle(session.id));
    const replied = await first.until(({ type }) => type === "question.replied");
    expect(replied.properties).toMatchObject({ answers });
  });

  test("a question can be rejected; a session that denies questions rejects them by itself", async () => {
    const { api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    const deny = { permission: "question", pattern: "*", action: "deny" };
    const { body: session } = await api.post("/session", { permission: [deny] });
    expect((await api.post(`/session/${session.id}/message`, text("question"))).status).toBe(200);
    expect(listener.heard.some(({ event }) => event.type === "question.rejected")).toBe(true);
  });
});

describe("sessions", () => {
  test("made on /v1 are here, and made here are there", async () => {
    const { daemon, api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    await daemon.sessions.create(sessionId("made-on-v1"), { agent: "mock", directory });
    const created = await listener.until(({ type }) => type === "session.created");
    if (created.type !== "session.created") throw new Error("not created");
    const { id } = created.properties.info;
    expect(id).toMatch(/^ses_[0-9A-Za-z]+$/);
    const { body: there } = await openCodeApi(daemon.url, { directory }).get("/v1/sessions/made-on-v1");
    expect(there.opencodeId).toBe(id);
    await api.post(`/session/${id}/message`, text("echo across"));
    const { body: session } = await api.post("/session", {});
    const sessions = await allSessions(daemon.sessions);
    expect(sessions.map((one) => one.sessionId).sort()).toEqual(["made-on-v1", session.id].sort());
  });

  test("are renamed, forked and deleted, and others hear of it", async () => {
    const { api, base, directory } = await openSurface();
    const listener = await listen(base, { directory });
    const { body: session } = await api.post("/session", {});
    await api.post(`/session/${session.id}/message`, text("echo first words"));
    expect((await api.get(`/session/${session.id}`)).body.title).toBe("echo first words");
    expect((await api.call("PATCH", `/session/${session.id}`, { title: "new name" })).body.title).toBe("new name");
    const { body: forked } = await api.post(`/session/${session.id}/fork`, {});
    fits("Session", forked);
    expect(forked.id).not.toBe(session.id);
    expect((await api.call("DELETE", `/session/${session.id}`)).body).toBe(true);
    const deleted = await listener.until(({ type }) => type === "session.deleted");
    expect(deleted.properties).toMatchObject({ sessionID: session.id });
    expect((await api.get(`/session/${session.id}`)).status).toBe(404);
  });

  test("take the agent of the first prompt's model; later another agent is refused", async () => {
    const { api, daemon } = await openSurface({ defaultAgent: "builtin" });
    const { body: session } = await api.post("/session", {});
    expect(session.model.providerID).toBe("builtin");
    const model = { providerID: "mock", modelID: "default" };
    expect((await api.post(`/session/${session.id}/message`, { ...text("echo now the mock"), model })).status).toBe(
      200,
    );
    const sessions = await allSessions(daemon.sessions);
    expect(sessions.map(({ agent }) => agent)).toEqual(["mock"]);
    const other = { providerID: "builtin", modelID: "default" };
    const refused = await api.post(`/session/${session.id}/message`, { ...text("echo"), model: other });
    expect(refused.status).toBe(400);
    fits("BadRequestError", refused.body);
    expect(refused.body.data.message).toContain("belongs to mock");
  });

  test("made on /v1 keep their agent and their settings, also when nothing was said in them", async () => {
    const { api, daemon, directory } = await openSurface({ defaultAgent: "builtin" });
    const made = await daemon.client.create({ agent: "mock", directory, permissionMode: "plan", title: "mine" });
    const { opencodeId } = await made.get();
    const other = { providerID: "builtin", modelID: "default" };
    const refused = await api.post(`/session/${opencodeId}/message`, { ...text("echo"), model: other });
    expect([refused.status, refused.body.data.message]).toEqual([400, expect.stringContaining("belongs to mock")]);
    expect(await made.get()).toMatchObject({ agent: "mock", permissionMode: "plan", title: "mine" });
    const model = { providerID: "mock", modelID: "default" };
    expect((await api.post(`/session/${opencodeId}/message`, { ...text("echo mine"), model })).status).toBe(200);
  });
});

describe("the rest", () => {
  test("the diffs of a session name files from its directory", async () => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", {});
    await api.post(`/session/${session.id}/message`, text("tool"));
    const { body: diffs } = await api.get(`/session/${session.id}/diff`);
    expect(diffs).toMatchObject([{ file: "README.md", additions: 1, deletions: 0, status: "modified" }]);
  });

  test("limits of models are those that are known, and 0 otherwise", async () => {
    const limits = { "lab/known": { context: 32_000, output: 4_000 } };
    const { api } = await openSurface({ builtin: { model: "lab/unknown", limits } });
    const { providers } = (await api.get("/config/providers")).body;
    const { models } = providers.find(({ id }: { id: string }) => id === "builtin");
    expect(models["lab/known"].limit).toEqual({ context: 32_000, output: 4_000 });
    expect(models["lab/unknown"]).toMatchObject({ limit: { context: 0, output: 0 }, cost: { input: 0, output: 0 } });
  });

  test("what describes the server fits OpenCode's schemas", async () => {
    const { api } = await openSurface();
    for (const provider of (await api.get("/provider")).body.all) fits("Provider", provider);
    for (const provider of (await api.get("/config/providers")).body.providers) fits("Provider", provider);
    for (const agent of (await api.get("/agent")).body) fits("Agent", agent);
    fits("Config", (await api.get("/config")).body);
    fits("Path", (await api.get("/path")).body);
    fits("Project", (await api.get("/project/current")).body);
    fits("LocationInfo", (await api.get("/api/location")).body);
    for (const model of (await api.get("/api/model")).body.data) fits("ModelV2Info", model);
    for (const provider of (await api.get("/api/provider")).body.data) fits("ProviderV2Info", provider);
    for (const agent of (await api.get("/api/agent")).body.data) fits("AgentV2Info", agent);
    expect((await api.get("/global/health")).body.healthy).toBe(true);
  });

  test("files are those of the directory, and of no other", async () => {
    const { base } = await openSurface();
    // Nothing but what is written here: the letters of a query also match names in which others stand between them.
    const directory = temporaryFolder();
    const api = openCodeApi(base, { directory });
    mkdirSync(join(directory, "src"));
    writeFileSync(join(directory, "src", "needle.txt"), "hay\nneedle here\n");
    writeFileSync(join(directory, "secret"), "outside");
    symlinkSync("/etc", join(directory, "src", "link"));
    const { body: nodes } = await api.get("/file?path=src");
    for (const node of nodes) fits("FileNode", node);
    expect((await api.get("/file/content?path=src/needle.txt")).body).toEqual({
      type: "text",
      content: "hay\nneedle here",
    });
    expect((await api.get("/file/content?path=../../etc/hostname")).status).toBe(400);
    // Whether something exists outside is not answered.
    const [there, missing] = [`../${basename(directory)}-beside`, "../no-such-file"];
    writeFileSync(join(directory, there), "secret");
    for (const route of ["file/content", "file"]) {
      const answers = [];
      for (const path of [there, missing]) {
        const { status, body } = await api.get(`/${route}?path=${path}`);
        answers.push({ status, text: JSON.stringify(body).replace(path, "PATH") });
      }
      expect(answers[0]).toEqual(answers[1]);
    }
    expect((await api.get("/file/content?path=src/link/hostname")).status).toBe(400);
    expect((await api.get("/find/file?query=needle")).body).toEqual(["src/needle.txt"]);
    writeFileSync(join(directory, "franca-never-deleted-by-name"), "");
    expect((await api.get("/find/file?query=needle")).body).toEqual(["src/needle.txt", "franca-never-deleted-by-name"]);
    const { body: found } = await api.get("/find?pattern=need.e");
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ path: { text: "src/needle.txt" }, line_number: 2 });
    const needle = { path: "src/needle.txt", type: "file" };
    const located = { location: { directory, project: { directory } } };
    expect((await api.get("/api/fs/find?query=needle.t")).body).toMatchObject({ ...located, data: [needle] });
    expect((await api.get("/api/fs/list?path=src")).body).toMatchObject({
      ...located,
      data: [{ path: "src/link", type: "file" }, needle],
    });
    expect((await api.get("/api/fs/list")).body.data[0]).toEqual({ path: "src/", type: "directory" });
    expect((await api.get("/api/fs/find")).status).toBe(400);
    expect((await api.get("/api/fs/read/src/link/hostname")).status).toBe(400);
    expect((await api.get("/api/fs/read/src/nothing")).status).toBe(404);
  });

  test("a file that an agent wrote is never a page of this address", async () => {
    const { base, directory } = await openSurface();
    const script = "<script>fetch('/v1/sessions')</script>";
    writeFileSync(join(directory, "page.html"), `<!doctype html>${script}`);
    writeFileSync(join(directory, "picture.svg"), `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`);
    for (const name of ["page.html", "picture.svg"]) {
      const answer = await fetch(`${base}/api/fs/read/${name}?directory=${encodeURIComponent(directory)}`);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain(script);
      expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    }
  });

  test("every operation of OpenCode's document answers, and never with a page or a fake success", async () => {
    // Without OpenCode: whoever has it installed does not want these asked of it.
    const { daemon } = await openBeside({ installed: false, token: null });
    const base = `${daemon.url}/opencode`;
    for (const operation of operations) {
      const [method = "", path = ""] = operation.split(" ");
      if (path.endsWith("/event") || path.endsWith("connect") || path === "/tui/control/next") continue;
      const response = await fetch(base + path.replaceAll(/\{\w+\}/g, "ses_unknown").replace("*", "x"), { method });
      expect(response.headers.get("content-type") ?? "application/json", operation).toContain("application/json");
      expect([200, 400, 404, 501], `${operation} answered ${response.status}`).toContain(response.status);
      await response.arrayBuffer();
    }
    const unknown = await fetch(`${base}/no/such/route`);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ name: "NotFoundError" });
  });

  test("the token is taken as Bearer and as a Basic password", async () => {
    const { base, directory } = await openSurface({ token: "secret-token" });
    const asked = async (authorization?: string) =>
      (
        await fetch(
          `${base}/session?directory=${directory}`,
          authorization === undefined ? {} : { headers: { authorization } },
        )
      ).status;
    expect(await asked()).toBe(401);
    expect(await asked("Bearer secret-token")).toBe(200);
    expect(await asked(`Basic ${Buffer.from("opencode:secret-token").toString("base64")}`)).toBe(200);
    expect(await asked(`Basic ${Buffer.from("opencode:wrong").toString("base64")}`)).toBe(401);
  });

  test("at the root too, where that is asked for, and with another agent by its address", async () => {
    const { daemon, directory } = await openSurface();
    expect((await openCodeApi(daemon.url, { directory }).get("/config")).body.model).toBe("mock/default");
    const builtin = openCodeApi(`${daemon.url}/opencode/@builtin`, { directory });
    expect((await builtin.get("/config")).body.model).toBe("builtin/default");
    expect((await builtin.post("/session", {})).body.model.providerID).toBe("builtin");
  });
});
