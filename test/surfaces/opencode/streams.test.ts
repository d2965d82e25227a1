/** The event streams of the OpenCode surface: the same for all, resumable at any place, never at odds with a poll. */
import { expect, test } from "vitest";
import { startDaemon } from "../../support/daemon.ts";
import { openCodeProblems } from "../../support/dialects.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { isIdle, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

test("two clients hear the same, each other's prompts among it", async () => {
  const { api, base, directory } = await openSurface();
  const clients = await Promise.all([listen(base, { directory }), listen(base, { directory })]);
  const { body: session } = await api.post("/session", {});
  await api.post(`/session/${session.id}/message`, text("echo for both"));
  await Promise.all(clients.map((client) => client.until(isIdle(session.id))));
  const [one, other] = clients.map(({ heard }) => heard.filter(({ id }) => id !== null));
  expect(one).toEqual(other);
});

test("go on after any id, missing nothing and repeating nothing", async () => {
  const { api, base, directory } = await openSurface();
  const whole = await listen(base, { directory });
  const { body: session } = await api.post("/session", {});
  await api.post(`/session/${session.id}/message`, text("tool"));
  await whole.until(isIdle(session.id));
  const all = whole.heard.filter(({ id }) => id !== null);
  expect(all.length).toBeGreaterThan(20);
  for (const [index, { id }] of all.entries()) {
    const again = await listen(base, { directory, after: id ?? "" });
    if (index < all.length - 1) await again.until(isIdle(session.id));
    again.close();
    expect(again.heard.filter((one) => one.id !== null)).toEqual(all.slice(index + 1));
  }
});

test("go on after a restart of the daemon, with the same ids and messages", async () => {
  const data = temporaryFolder();
  const first = await openSurface({ store: "sqlite", data });
  const { directory } = first;
  const listener = await listen(first.base, { directory });
  const { body: session } = await first.api.post("/session", {});
  await first.api.post(`/session/${session.id}/message`, text("tool"));
  await listener.until(isIdle(session.id));
  const all = listener.heard.filter(({ id }) => id !== null);
  const { body: messages } = await first.api.get(`/session/${session.id}/message`);
  await first.daemon.close();

  const second = await startDaemon({ store: "sqlite", data });
  const base = `${second.url}/opencode`;
  const again = await listen(base, { directory, after: all[5]?.id ?? "" });
  await again.until(isIdle(session.id));
  expect(again.heard.filter(({ id }) => id !== null)).toEqual(all.slice(6));
  const api = openCodeApi(base, { directory });
  expect((await api.get(`/session/${session.id}/message`)).body).toEqual(messages);
  expect((await api.post(`/session/${session.id}/message`, text("echo still here"))).status).toBe(200);
});

test("/event tells of one directory, /global/event of all", async () => {
  const { api, base, daemon } = await openSurface();
  const elsewhere = await listen(base, { directory: "/nowhere/else" });
  const everywhere = await listen(base, { path: "/global/event" });
  const { body: session } = await api.post("/session", {});
  await api.post(`/session/${session.id}/message`, text("echo hi"));
  await everywhere.until(isIdle(session.id));
  expect(everywhere.heard.filter(({ id }) => id !== null).every((one) => one.directory === daemon.directory)).toBe(
    true,
  );
  expect(elsewhere.heard.map(({ event }) => event.type)).toEqual(["server.connected"]);
});

test("a poll of the status never disagrees with what was heard", async () => {
  const { api, base, directory } = await openSurface();
  const listener = await listen(base, { directory });
  const { body: session } = await api.post("/session", {});
  let running = true;
  const turns = (async () => {
    for (const prompt of ["echo a", "tool", "retry", "error", "subagent"]) {
      await api.post(`/session/${session.id}/message`, text(prompt));
    }
    running = false;
  })();
  const statusHeard = (upTo: number): string =>
    listener.heard
      .slice(0, upTo)
      .flatMap(({ event }) =>
        event.type === "session.status" && event.properties.sessionID === session.id
          ? [event.properties.status.type]
          : [],
      )
      .at(-1) ?? "idle";
  const polls: { readonly from: number; readonly to: number; readonly status: string }[] = [];
  while (running) {
    const from = listener.heard.length;
    const { body } = await api.get("/session/status");
    polls.push({ from, to: listener.heard.length, status: body[session.id]?.type ?? "idle" });
  }
  // What was polled was the truth at some moment between what had been heard before and by the end of the next poll.
  for (const [index, { from, status }] of polls.entries()) {
    const to = polls[index + 1]?.to ?? listener.heard.length;
    const possible = Array.from({ length: to - from + 1 }, (_, offset) => statusHeard(from + offset));
    expect(possible).toContain(status);
  }
  expect(new Set(polls.map(({ status }) => status)).size).toBeGreaterThan(1);
  await turns;
  expect(statusHeard(listener.heard.length)).toBe("idle");
  expect(
    openCodeProblems(listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected")),
  ).toEqual([]);
});
