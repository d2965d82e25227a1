/** OpenCode's `build` and `plan` on agents: switched in mid-session, shown as they are, listed only where they work. */
import { expect, test } from "vitest";
import { openSurface, text } from "../../support/opencode-surface.ts";

const answerOf = (body: { parts: { type: string; text: string }[] }): string =>
  body.parts.findLast(({ type }) => type === "text")?.text ?? "";

test("a session goes from build to plan and back, and session and messages say so", async () => {
  const { api } = await openSurface();
  const { body: session } = await api.post("/session", { agent: "plan" });
  expect(session.agent).toBe("plan");
  const prompt = async (agent: string) => {
    const { body } = await api.post(`/session/${session.id}/message`, { ...text("permission"), agent });
    return body;
  };
  const planned = await prompt("plan");
  expect(answerOf(planned)).toBe("Done: bash was rejected, edit was rejected.");
  expect(planned.info).toMatchObject({ mode: "plan", agent: "plan" });
  const rules = { permission: [{ permission: "bash", pattern: "*", action: "allow" }] };
  await api.call("PATCH", `/session/${session.id}`, {
    permission: [...rules.permission, { permission: "edit", pattern: "*", action: "allow" }],
  });
  const built = await prompt("build");
  expect(answerOf(built)).toBe("Done: bash was allowed, edit was allowed.");
  expect(built.info).toMatchObject({ mode: "build", agent: "build" });
  expect((await api.get(`/session/${session.id}`)).body.agent).toBe("build");
  const { body: messages } = await api.get(`/session/${session.id}/message`);
  const agents = messages.map(({ info }: { info: { agent: string } }) => info.agent);
  expect(agents).toEqual(["plan", "plan", "build", "build"]);
});

test("the list has the modes of the agent that a session would get, and a mode it does not have is refused", async () => {
  const { api, daemon, directory } = await openSurface();
  const names = (body: { name: string }[]): string[] => body.map(({ name }) => name);
  expect(names((await api.get("/agent")).body)).toEqual(["build", "plan"]);
  const { body: session } = await api.post("/session", {});
  expect((await api.post(`/session/${session.id}/message`, { ...text("echo a"), agent: "smart" })).status).toBe(400);
  expect((await api.post("/session", { agent: "smart" })).status).toBe(400);
  expect(daemon.directory).toBe(directory);
});
