/** OpenCode's newer API over conversations: sessions, messages by cursor, requests; in the shapes that it documents. */
import { expect, test } from "vitest";
import { listen } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

interface Named {
  readonly id: string;
}

test("sessions are made, listed by cursor, read, and changed", async () => {
  const { api, directory } = await openSurface();
  const made: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const { status, body } = await api.post("/api/session", { location: { directory } });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ location: { directory }, cost: 0, tokens: { input: 0 } });
    made.push(body.data.id);
  }
  const { body: first } = await api.get("/api/session?limit=2&order=asc");
  const { body: second } = await api.get(`/api/session?limit=2&cursor=${first.cursor.next}`);
  const ids = [...first.data, ...second.data].map(({ id }: Named) => id);
  expect(ids.sort()).toEqual(made.sort());
  expect((await api.get("/api/session?cursor=nonsense")).status).toBe(400);
  const [one = ""] = made;
  expect((await api.get(`/api/session/${one}`)).body.data.id).toBe(one);
  expect((await api.get("/api/session/ses_none")).body).toMatchObject({
    _tag: "SessionNotFoundError",
    sessionID: "ses_none",
  });
  expect((await api.post(`/api/session/${one}/agent`, { agent: "plan" })).status).toBe(204);
  expect((await api.get(`/api/session/${one}`)).body.data.agent).toBe("plan");
  expect((await api.post(`/api/session/${one}/model`, { model: { providerID: "mock", id: "default" } })).status).toBe(
    204,
  );
});

test("a prompt is admitted, waited for, and its messages are read from the end by cursor", async () => {
  const { api } = await openSurface();
  const { body } = await api.post("/api/session", {});
  const session = `/api/session/${body.data.id}`;
  const admitted = await api.post(`${session}/prompt`, { prompt: { text: "tool" } });
  expect(admitted.status).toBe(200);
  expect(admitted.body.data).toMatchObject({ sessionID: body.data.id, prompt: { text: "tool" }, delivery: "steer" });
  expect((await api.post(`${session}/wait`)).status).toBe(204);
  expect((await api.get("/api/session/active")).body).toEqual({ data: {} });
  const { body: all } = await api.get(`${session}/message`);
  expect(all.data.map(({ type }: { type: string }) => type)).toEqual(["assistant", "user"]);
  const [assistant, user] = all.data;
  expect(user).toMatchObject({ id: admitted.body.data.id, type: "user", text: "tool" });
  const tools = assistant.content.filter(({ type }: { type: string }) => type === "tool");
  expect(tools.map(({ name, state }: { name: string; state: { status: string } }) => [name, state.status])).toEqual([
    ["read", "completed"],
    ["edit", "completed"],
  ]);
  const { body: newest } = await api.get(`${session}/message?limit=1`);
  expect(newest.data.map(({ id }: Named) => id)).toEqual([assistant.id]);
  const { body: older } = await api.get(`${session}/message?limit=1&cursor=${newest.cursor.next}`);
  expect(older.data.map(({ id }: Named) => id)).toEqual([user.id]);
  expect((await api.get(`${session}/message/${user.id}`)).body.data).toEqual(user);
  expect((await api.get(`${session}/message/msg_none`)).body).toMatchObject({ _tag: "MessageNotFoundError" });
  expect((await api.get(`${session}/context`)).body.data).toEqual([user, assistant]);
});

test("requests are listed and answered", async () => {
  const { api, base, directory } = await openSurface();
  const listener = await listen(base, { directory });
  const { body } = await api.post("/api/session", {});
  const session = `/api/session/${body.data.id}`;
  await api.post(`${session}/prompt`, { prompt: { text: "permission" } });
  for (const _ of ["bash", "edit"]) {
    const seen = listener.heard.length;
    await listener.until((event) => event.type === "permission.asked");
    const { body: asked } = await api.get(`${session}/permission`);
    const [request] = asked.data.length > 0 ? asked.data : (await api.get("/api/permission/request")).body.data;
    if (request === undefined) break;
    expect((await api.get(`${session}/permission/${request.id}`)).body.data.resources).toEqual(request.resources);
    expect((await api.post(`${session}/permission/${request.id}/reply`, { reply: "reject" })).status).toBe(204);
    expect(listener.heard.length).toBeGreaterThanOrEqual(seen);
  }
  expect((await api.post(`${session}/interrupt`)).status).toBe(204);
  await api.post(`${session}/wait`);
  expect((await api.get(`${session}/question`)).body).toEqual({ data: [] });
});

test("older pages of messages are named by headers, which pages of other origins may read", async () => {
  const { daemon, base, api, directory } = await openSurface({ corsAllowOrigin: ["https://app.example"] });
  const { body: session } = await api.post("/session", {});
  await api.post(`/session/${session.id}/message`, text("echo one"));
  await api.post(`/session/${session.id}/message`, text("echo two"));
  const url = `${base}/session/${session.id}/message?limit=2&directory=${encodeURIComponent(directory)}`;
  const page = await fetch(url, { headers: { origin: "https://app.example" } });
  const cursor = page.headers.get("x-next-cursor") ?? "";
  expect(page.headers.get("access-control-expose-headers")).toContain("X-Next-Cursor");
  expect(page.headers.get("link")).toContain(`before=${cursor}`);
  const older = await fetch(`${url}&before=${cursor}`);
  expect(older.headers.get("x-next-cursor")).toBeNull();
  expect(JSON.parse(await older.text())).toHaveLength(2);
  expect(daemon.directory).toBe(directory);
});
