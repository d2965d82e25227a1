/** What OpenCode's clients ask beside turns: of the OpenCode agent, played by a server of the test's, and of others. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { misfits, openCodeProblems, openCodeSchema } from "../../support/dialects.ts";
import { fakeOpenCode } from "../../support/fake-opencode.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { type Api, isIdle, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

const fits = (schema: string, value: unknown): void => {
  const validate = openCodeSchema(schema);
  validate(value);
  expect(validate.errors ?? [], `${schema}: ${JSON.stringify(value)}`).toEqual([]);
};

/** A session of the OpenCode agent; its program need only be there, because a server runs already. */
async function withOpenCode(options: Parameters<typeof openSurface>[0] = {}) {
  const server = await fakeOpenCode();
  const folder = temporaryFolder();
  writeFileSync(join(folder, "opencode"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(folder, "opencode"), 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  const surface = await openSurface(options);
  const env = { OPENCODE_SERVER_URL: server.url };
  const { id } = await surface.daemon.client.create({ agent: "opencode", directory: surface.directory, env });
  const session = surface.daemon.client.session(id);
  return { ...surface, server, session, id: (await session.get()).opencodeId ?? "" };
}

interface Told {
  readonly info: { readonly id: string; readonly role: string };
  readonly parts: readonly { readonly text?: string }[];
}

const said = async (api: Api, id: string): Promise<string[]> =>
  (await api.get(`/session/${id}/message`)).body.map(
    ({ info, parts }: Told) => `${info.role} ${parts.flatMap((part) => part.text ?? []).join()}`,
  );
const lastUser = async (api: Api, id: string): Promise<string> =>
  (await api.get(`/session/${id}/message`)).body.findLast(({ info }: Told) => info.role === "user").info.id;

describe("the OpenCode agent", () => {
  test("takes back, and the next prompt makes it final, for clients of both surfaces", async () => {
    const { api, base, directory, id, session } = await withOpenCode();
    await api.post(`/session/${id}/message`, text("first"));
    await api.post(`/session/${id}/message`, text("second"));
    const messageID = await lastUser(api, id);
    const listener = await listen(base, { directory });
    const reverted = await api.post(`/session/${id}/revert`, { messageID });
    expect(reverted).toMatchObject({ status: 200, body: { id, revert: { messageID } } });
    fits("Session", reverted.body);
    expect((await api.get(`/session/${id}`)).body).toEqual(reverted.body);
    expect(await said(api, id)).toEqual(["user first", "assistant Yes.", "user second", "assistant Yes."]);
    expect((await session.get()).revert).toEqual({ message_id: messageID });
    await api.post(`/session/${id}/message`, text("third"));
    await listener.until(isIdle(id));
    expect(await said(api, id)).toEqual(["user first", "assistant Yes.", "user third", "assistant Yes."]);
    const events = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
    expect(events.flatMap(misfits)).toEqual([]);
    expect(openCodeProblems(events)).toEqual([]);
    expect(events.filter(({ type }) => type === "message.removed")).toHaveLength(2);
    const { items, revert } = await session.get();
    expect(items.map(({ content }) => content[0])).toMatchObject([
      { text: "first" },
      { text: "Yes." },
      { text: "third" },
      { text: "Yes." },
    ]);
    expect(revert).toBeNull();
    const page = await session.get({ itemsBefore: items.at(-1)?.item_id ?? "", limit: 10 });
    expect(page.items.map(({ item_id }) => item_id)).toEqual(items.slice(0, -1).map(({ item_id }) => item_id));
  });

  test("removes what is named, and nothing else, whatever the name looks like", async () => {
    const { api, id, server } = await withOpenCode();
    await api.post(`/session/${id}/message`, text("first"));
    const places = [
      "message/%2e%2e%2f",
      "message/..%2F..%2Fsession",
      "message/nobody",
      "message/msg_1/part/..%2Fmsg_2",
    ];
    for (const place of places) expect((await api.call("DELETE", `/session/${id}/${place}`)).status, place).toBe(400);
    expect(server.asked.filter(({ what }) => what.startsWith("DELETE"))).toEqual([]);
    server.refuse(/^DELETE/, { status: 404, body: { name: "NotFoundError", data: { message: "No such message" } } });
    expect((await api.call("DELETE", `/session/${id}/message/msg_%2F..%2F..`)).status).toBe(404);
    expect(server.asked.at(-1)?.what).toBe("DELETE /session/{id}/message/msg_%2F..%2F..");
  });

  test("brings back; shares and stops sharing", async () => {
    const { api, id, session } = await withOpenCode();
    await api.post(`/session/${id}/message`, text("first"));
    await api.post(`/session/${id}/revert`, { messageID: await lastUser(api, id) });
    const back = await api.post(`/session/${id}/unrevert`);
    expect(back.status).toBe(200);
    expect(back.body).not.toHaveProperty("revert");
    const shared = await api.post(`/session/${id}/share`);
    expect(shared.body.share).toEqual({ url: "http://localhost/s/1" });
    expect((await session.get()).share).toEqual(shared.body.share);
    const unshared = await api.call("DELETE", `/session/${id}/share`);
    expect(unshared.body).not.toHaveProperty("share");
    expect((await session.get()).share).toBeNull();
  });

  test("says no in its own words; a server that is not there is a 502", async () => {
    const { api, id, server } = await withOpenCode();
    const body = { name: "UnknownError", data: { message: "Sharing is off." } };
    server.refuse(/share/, { status: 500, body });
    expect(await api.post(`/session/${id}/share`)).toEqual({ status: 500, body });
    server.refuse(/revert/, "silence");
    const asking = api.post(`/session/${id}/revert`, { messageID: "msg_0001" });
    await server.heard(/revert/);
    server.close();
    const gone = await asking;
    expect(gone.status).toBe(502);
    expect(gone.body.data.message).toContain("OpenCode could not be asked");
  });

  test("takes nothing back while it is busy", async () => {
    const { api, base, directory, id, server } = await withOpenCode();
    await api.post(`/session/${id}/message`, text("first"));
    const messageID = await lastUser(api, id);
    server.refuse(/prompt_async/, "silence");
    const listener = await listen(base, { directory });
    await api.post(`/session/${id}/prompt_async`, text("second"));
    await listener.until(({ type }) => type === "session.status");
    const asks = server.asked.length;
    for (const [path, given] of [
      ["revert", { messageID }],
      ["unrevert", {}],
    ] as const) {
      const refused = await api.post(`/session/${id}/${path}`, given);
      const body = { _tag: "SessionBusyError", sessionID: id, message: expect.stringContaining("is busy") };
      expect(refused).toEqual({ status: 409, body });
    }
    expect((await api.call("DELETE", `/session/${id}/message/${messageID}`)).status).toBe(409);
    expect(server.asked.slice(asks).some(({ what }) => /revert|DELETE/.test(what))).toBe(false);
  });

  test("is told what it has taken back also after a restart of the daemon", async () => {
    const data = join(temporaryFolder(), "data");
    const { api, id, daemon, directory } = await withOpenCode({ store: "sqlite", data });
    await api.post(`/session/${id}/message`, text("first"));
    const messageID = await lastUser(api, id);
    await api.post(`/session/${id}/revert`, { messageID });
    await api.post(`/session/${id}/share`);
    await daemon.close();
    const { base } = await openSurface({ store: "sqlite", data });
    const again = openCodeApi(base, { directory });
    expect((await again.get(`/session/${id}`)).body).toMatchObject({
      revert: { messageID },
      share: { url: "http://localhost/s/1" },
    });
    expect((await again.post(`/session/${id}/unrevert`)).body).not.toHaveProperty("revert");
  });

  test("takes notes without a turn", async () => {
    const { api, base, directory, id, server } = await withOpenCode();
    const listener = await listen(base, { directory });
    const noted = await api.post(`/session/${id}/message`, { ...text("note"), noReply: true });
    expect(noted).toMatchObject({ status: 200, body: { info: { role: "user" }, parts: [{ text: "note" }] } });
    fits("UserMessage", noted.body.info);
    expect(server.asked.at(-1)).toMatchObject({
      what: "POST /session/{id}/message",
      body: { parts: [{ type: "text", text: "note" }], noReply: true },
    });
    expect((await api.post(`/session/${id}/prompt_async`, { ...text("more"), noReply: true })).status).toBe(204);
    expect(await said(api, id)).toEqual(["user note", "user more"]);
    const events = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
    expect(events.some(({ type }) => type === "session.status")).toBe(false);
    expect(openCodeProblems(events)).toEqual([]);
    expect((await api.get("/session/status")).body).toEqual({});
  });

  test("is given all that a prompt carries", async () => {
    const { api, id, server } = await withOpenCode();
    const format = { type: "json_schema", schema: { type: "object" } };
    const subtask = { type: "subtask", prompt: "look", description: "Look", agent: "general" };
    const agent = { type: "agent", name: "general" };
    const extras = { system: "Be brief.", format, tools: { bash: false } };
    const parts = [{ type: "text", text: "hello" }, subtask, agent];
    const answered = await api.post(`/session/${id}/message`, { ...extras, parts });
    expect(answered.body.info.structured).toEqual({ answer: 42 });
    fits("AssistantMessage", answered.body.info);
    expect(server.asked.at(-1)).toMatchObject({ what: "POST /session/{id}/prompt_async", body: { ...extras, parts } });
    await api.post(`/session/${id}/command`, { command: "greet", arguments: "Ada" });
    expect(server.asked.at(-1)).toMatchObject({
      what: "POST /session/{id}/command",
      body: { command: "greet", arguments: "Ada" },
    });
  });

  test("branches off before a message; one that is not there is a 404", async () => {
    const { api, id, server } = await withOpenCode();
    await api.post(`/session/${id}/message`, text("first"));
    const messageID = await lastUser(api, id);
    const { body: forked } = await api.post(`/session/${id}/fork`, { messageID });
    fits("Session", forked);
    await api.post(`/session/${forked.id}/prompt_async`, text("go on"));
    expect(await server.heard(/fork/)).toEqual({ messageID });
    expect((await api.post(`/session/${id}/fork`, { messageID: "msg_unknown" })).status).toBe(404);
  });
});

describe("every other agent", () => {
  const asks: readonly (readonly [string, string, unknown, string])[] = [
    ["POST", "/share", undefined, "`share`"],
    ["DELETE", "/share", undefined, "`share`"],
    ["DELETE", "/message/msg_1", undefined, "remove a message"],
    ["POST", "/message", { ...text("echo a"), noReply: true }, "`noReply`"],
    ["POST", "/prompt_async", { ...text("echo a"), noReply: true }, "`noReply`"],
    ["POST", "/message", { ...text("echo a"), format: { type: "json_schema", schema: {} } }, "`format`"],
    ["POST", "/message", { parts: [{ type: "subtask", prompt: "a", description: "a", agent: "b" }] }, "`subtask`"],
    ["POST", "/message", { parts: [...text("echo a").parts, { type: "agent", name: "b" }] }, "`agent`"],
  ];

  test.each(asks)("%s %s %j is a 400 that says who can", async (method, path, body, word) => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", {});
    const refused = await api.call(method, `/session/${session.id}${path}`, body);
    expect(refused.status).toBe(400);
    fits("BadRequestError", refused.body);
    expect(refused.body.data.message).toContain(word);
    expect(refused.body.data.message).toContain("OpenCode can");
    expect((await api.get(`/session/${session.id}/message`)).body).toEqual([]);
    expect((await api.get(`/session/${session.id}`)).body.title).toBe(session.title);
  });

  test("branches off at the end only, and says so", async () => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", {});
    await api.post(`/session/${session.id}/message`, text("echo first"));
    const messageID = await lastUser(api, session.id);
    const refused = await api.post(`/session/${session.id}/fork`, { messageID });
    expect(refused.status).toBe(400);
    expect(refused.body.data.message).toContain("only at the end of a conversation: OpenCode can");
    expect((await api.post(`/session/${session.id}/fork`, {})).status).toBe(200);
  });

  test("reads slash commands from its prompts", async () => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", {});
    const { status } = await api.post(`/session/${session.id}/command`, { command: "greet", arguments: "Ada" });
    expect(status).toBe(200);
    expect((await said(api, session.id))[0]).toBe("user /greet Ada");
  });

  test("of a subagent's session nothing is asked", async () => {
    const { api } = await openSurface();
    const { body: session } = await api.post("/session", {});
    await api.post(`/session/${session.id}/message`, text("subagent"));
    const [child] = (await api.get(`/session/${session.id}/children`)).body;
    const refused = await api.post(`/session/${child.id}/share`);
    expect(refused.status).toBe(400);
    expect(refused.body.data.message).toContain("subagent");
  });
});
