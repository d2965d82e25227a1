/** A session that has not begun is given to another agent: the same session, with the change in its log. */
import { expect, test } from "vitest";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { sessionId } from "../../../src/protocol/ids.ts";
import { lint, universal } from "../../../src/rules/index.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { isIdle, listen } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

const all = { offset: 0, limit: 1_000, includeRaw: false };

test("the log has the change, clients hear an update, and nothing is deleted", async () => {
  const data = temporaryFolder();
  const { api, base, daemon, directory } = await openSurface({ defaultAgent: "builtin", store: "sqlite", data });
  const listener = await listen(base, { directory });
  const { body: session } = await api.post("/session", { title: "mine" });
  const model = { providerID: "mock", modelID: "default" };
  const answered = await api.post(`/session/${session.id}/message`, { ...text("echo now the mock"), model });
  expect(answered.status).toBe(200);
  await listener.until(isIdle(session.id));
  const types = listener.heard.map(({ event }) => event.type);
  expect(types.filter((type) => type === "session.created")).toHaveLength(1);
  expect(types).not.toContain("session.deleted");
  const { events } = await daemon.sessions.events(sessionId(session.id), all);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(changesAgent)).toMatchObject([{ data: { agent: "mock", model: null } }]);
  expect(lint(universal, events)).toEqual([]);
  const { body: now } = await api.get(`/session/${session.id}`);
  expect(now).toMatchObject({ title: "mine", model: { providerID: "mock" }, time: { created: session.time.created } });

  await daemon.close();
  const again = await openSurface({ defaultAgent: "builtin", store: "sqlite", data });
  expect(await again.daemon.sessions.get(sessionId(session.id))).toMatchObject({ agent: "mock", title: "mine" });
  expect((await again.api.post(`/session/${session.id}/message`, text("echo on"))).status).toBe(200);
});

const changesAgent = (event: UniversalEvent): boolean =>
  event.type === "session.updated" && event.data.agent !== undefined;

test("an agent that is not there is refused, and the session stays as it was", async () => {
  const { api, daemon } = await openSurface();
  const { body: session } = await api.post("/session", { title: "precious" });
  const before = await daemon.sessions.get(sessionId(session.id));
  const model = { providerID: "nobody", modelID: "default" };
  expect((await api.post(`/session/${session.id}/message`, { ...text("echo"), model })).status).toBe(400);
  expect(await daemon.sessions.get(sessionId(session.id))).toEqual(before);
  expect((await api.post(`/session/${session.id}/message`, text("echo all the same"))).status).toBe(200);
});

test("a session that has begun keeps its agent", async () => {
  const { api, daemon } = await openSurface();
  const { body: session } = await api.post("/session", {});
  const id = sessionId(session.id);
  await api.post(`/session/${session.id}/message`, text("echo hello"));
  await expect(daemon.sessions.changeAgent(id, { agent: "builtin" })).rejects.toMatchObject({ code: "not_supported" });
  expect(await daemon.sessions.get(id)).toMatchObject({ agent: "mock" });
});
