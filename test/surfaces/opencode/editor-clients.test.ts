/**
 * The calls of a Neovim plugin (opencode.nvim) and those that a chat bridge needs, in their order: by host and port
 * alone, or with a directory; what they read of each answer is there.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isIdle, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";

test("a plugin finds the server by its port, reads events line by line, and steers the TUI", async () => {
  const { daemon, directory } = await openSurface();
  const api = openCodeApi(daemon.url, { directory });
  expect((await api.get("/global/health")).body).toMatchObject({ healthy: true });
  expect((await api.get("/path")).body.directory).toBe(directory);
  expect((await api.get("/session")).body).toEqual([]);
  expect((await api.get("/agent")).body[0].mode).toBe("primary");
  expect((await api.get("/command")).status).toBe(200);
  // It joins all lines of an event and reads them as JSON: lines besides `data:` would break that.
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const accept = "application/json, text/event-stream";
  const url = `${daemon.url}/event?directory=${encodeURIComponent(directory)}`;
  const { body } = await fetch(url, { headers: { accept }, signal: left.signal });
  const { body: session } = await api.post("/session", {});
  await api.post(`/session/${session.id}/prompt_async`, text("echo hi"));
  let heard = "";
  for await (const chunk of body ?? []) {
    heard += new TextDecoder().decode(chunk);
    if (heard.includes('"session.idle"') && heard.endsWith("\n\n")) break;
  }
  const events = heard.split("\n\n").filter((event) => event !== "");
  expect(events.length).toBeGreaterThan(5);
  for (const event of events) expect(() => JSON.parse(event.replace(/^data: ?/, ""))).not.toThrow();
  const append = { type: "tui.prompt.append", properties: { text: "@buffer" } };
  expect((await api.post("/tui/publish", append)).body).toBe(true);
  const submit = { type: "tui.command.execute", properties: { command: "prompt.submit" } };
  expect((await api.post("/tui/publish", submit)).body).toBe(true);
  expect((await api.post("/tui/select-session", { sessionID: session.id })).body).toBe(true);
});

test("a bridge makes a session with rules and metadata for a thread, prompts it, and forks, renames and archives it", async () => {
  const { api, base, directory } = await openSurface();
  mkdirSync(join(directory, "notes"));
  const listener = await listen(base, { directory, path: "/global/event" });
  const permission = [
    { permission: "bash", pattern: "*", action: "allow" },
    { permission: "external_directory", pattern: `${directory}/notes/*`, action: "allow" },
    { permission: "question", pattern: "*", action: "deny" },
  ];
  const { status, body: session } = await api.post("/session", {
    title: "Thread",
    permission,
    metadata: { thread: "1" },
  });
  expect(status).toBe(200);
  const prompt = {
    system: "You are in a chat.",
    parts: [
      { type: "text", text: "echo from the thread" },
      { type: "text", text: "The user is called Ada.", synthetic: true },
    ],
  };
  expect((await api.post(`/session/${session.id}/prompt_async`, prompt)).status).toBe(204);
  await listener.until(isIdle(session.id));
  const { body: messages } = await api.get(`/session/${session.id}/message`);
  expect(messages).toHaveLength(2);
  expect((await api.get("/session/status")).body).toEqual({});
  expect((await api.get("/permission")).body).toEqual([]);
  expect((await api.get("/question")).body).toEqual([]);
  const { body: providers } = await api.get("/provider");
  expect(providers.connected).toContain("mock");
  const { body: renamed } = await api.call("PATCH", `/session/${session.id}`, { title: "Renamed" });
  expect(renamed.title).toBe("Renamed");
  const fork = await api.post(`/session/${session.id}/fork`, {});
  expect(fork.body.title).toBe("Renamed (fork #1)");
  expect((await api.post(`/session/${session.id}/abort`)).body).toBe(true);
  const { body: archived } = await api.call("PATCH", `/session/${session.id}`, { time: { archived: Date.now() } });
  expect(archived.time.archived).toBeGreaterThan(0);
});
