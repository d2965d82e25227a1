/** A fork has its origin's history, with ids of its own, as OpenCode copies it; and it outlives its origin. */
import { expect, test } from "vitest";
import { lint, universal } from "../../../src/rules/index.ts";
import { misfits, openCodeProblems } from "../../support/dialects.ts";
import { listen } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

interface Message {
  readonly info: { readonly id: string; readonly sessionID: string; readonly role: string; readonly parentID?: string };
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

/** What a person reads: without ids and times. */
const shown = (messages: readonly Message[]) =>
  messages.map(({ info, parts }) => [
    info.role,
    ...parts
      .filter(({ type }) => type !== "step-finish")
      .map(({ type, text: words, tool, state }) => JSON.stringify([type, words, tool, outputOf(state)])),
  ]);

const outputOf = (state: unknown): unknown =>
  typeof state === "object" && state !== null && "output" in state ? state.output : null;

test("the messages are copied with new ids, nothing is busy, and the copy stays when its origin is deleted", async () => {
  const { api, base, daemon, directory } = await openSurface();
  const { body: origin } = await api.post("/session", { title: "Origin" });
  for (const words of ["tools", "echo second"]) await api.post(`/session/${origin.id}/message`, text(words));
  const { body: before } = await api.get(`/session/${origin.id}/message`);
  const listener = await listen(base, { directory });
  const { status, body: fork } = await api.post(`/session/${origin.id}/fork`, {});
  expect(status).toBe(200);
  expect(fork).toMatchObject({ title: "Origin (fork #1)", directory });
  expect(fork.parentID).toBeUndefined();
  const { body: copied } = await api.get(`/session/${fork.id}/message`);
  expect(shown(copied)).toEqual(shown(before));
  const ids = new Set(before.map(({ info }: Message) => info.id));
  for (const { info, parts } of copied) {
    expect(ids.has(info.id)).toBe(false);
    expect(info.sessionID).toBe(fork.id);
    for (const part of parts) expect(part).toMatchObject({ sessionID: fork.id, messageID: info.id });
    if (info.role === "assistant") {
      expect(info.time.completed).toBeGreaterThan(0);
      expect(copied.some((one: Message) => one.info.id === info.parentID)).toBe(true);
    }
  }
  const heard = await listener.until(({ type, properties }) => type === "session.updated" && "info" in properties);
  expect(heard).toBeDefined();
  const events = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
  expect(events.flatMap(misfits)).toEqual([]);
  expect(openCodeProblems(events)).toEqual([]);
  expect(events.filter(({ type }) => type === "session.status" || type === "file.edited")).toEqual([]);

  await api.call("DELETE", `/session/${origin.id}`);
  const own = daemon.client.session(fork.id);
  const { events: log } = await own.listEvents({ offset: 0, limit: 1_000 });
  expect(lint(universal, log)).toEqual([]);
  await api.post(`/session/${fork.id}/message`, text("echo third"));
  const { body: after } = await api.get(`/session/${fork.id}/message`);
  expect(after.slice(0, copied.length)).toEqual(copied);
  expect(shown(after.slice(copied.length))[0]).toEqual(["user", expect.stringContaining("echo third")]);
});

test("a session in which nothing was said is forked too", async () => {
  const { api } = await openSurface();
  const { body: origin } = await api.post("/session", { title: "Empty" });
  const { body: fork } = await api.post(`/session/${origin.id}/fork`, {});
  expect(fork.title).toBe("Empty (fork #1)");
  expect((await api.get(`/session/${fork.id}/message`)).body).toEqual([]);
});
