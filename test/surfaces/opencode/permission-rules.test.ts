/** Permission rules that a client gives with a session: kept by Franca for agents that have none, or refused. */
import { expect, test } from "vitest";
import { isIdle, listen } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

const rules = [
  { permission: "bash", pattern: "*", action: "allow" },
  { permission: "edit", pattern: "*", action: "deny" },
];

const answerOf = (body: { parts: { type: string; text: string }[] }): string =>
  body.parts.findLast(({ type }) => type === "text")?.text ?? "";

test("a headless client's rules are answered by, in the stream and after a restart of the view", async () => {
  const { api, base, directory } = await openSurface();
  const listener = await listen(base, { directory });
  const { body: session } = await api.post("/session", { permission: rules });
  expect(session.permission).toEqual(rules);
  const { body } = await api.post(`/session/${session.id}/message`, text("permission"));
  expect(answerOf(body)).toBe("Done: bash was allowed, edit was rejected.");
  await listener.until(isIdle(session.id));
  const replies = listener.heard.flatMap(({ event }) =>
    event.type === "permission.replied" ? [event.properties.reply] : [],
  );
  expect(replies).toEqual(["once", "reject"]);
});

test("rules are added later, and a tool that is turned off is one", async () => {
  const { api } = await openSurface();
  const { body: session } = await api.post("/session", { permission: rules });
  const more = [{ permission: "edit", pattern: "CHANGELOG.md", action: "allow" }];
  expect((await api.call("PATCH", `/session/${session.id}`, { permission: more })).body.permission).toEqual([
    ...rules,
    ...more,
  ]);
  const { body } = await api.post(`/session/${session.id}/message`, text("permission"));
  expect(answerOf(body)).toBe("Done: bash was allowed, edit was allowed.");
  const off = { ...text("permission"), tools: { bash: false, edit: true } };
  const { body: second } = await api.post(`/session/${session.id}/message`, off);
  expect(answerOf(second)).toBe("Done: bash was rejected, edit was allowed.");
});

test("questions are rejected where a rule denies them", async () => {
  const { api } = await openSurface();
  const permission = [{ permission: "question", pattern: "*", action: "deny" }];
  const { body: session } = await api.post("/session", { permission });
  const { status } = await api.post(`/session/${session.id}/message`, text("question"));
  expect(status).toBe(200);
});

test.each([
  [{ permission: [{ permission: "read", pattern: "*", action: "deny" }] }],
  [{ permission: [{ permission: "*", pattern: "*", action: "deny" }] }],
  [{ permission: [{ permission: "bash", pattern: "*", action: "perhaps" }] }],
])("what cannot be kept is refused: %j", async (body) => {
  const { api } = await openSurface();
  expect((await api.post("/session", body)).status).toBe(400);
  const { body: session } = await api.post("/session", {});
  expect((await api.call("PATCH", `/session/${session.id}`, body)).status).toBe(400);
  expect((await api.get("/session")).body).toHaveLength(1);
});
