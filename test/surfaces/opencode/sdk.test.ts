/** OpenCode's own SDK, both versions, driving the scripted agent through the daemon. */
import { createOpencodeClient } from "@opencode-ai/sdk/client";
import { createOpencodeClient as createNextClient } from "@opencode-ai/sdk/v2/client";
import { expect, test } from "vitest";
import { startDaemon } from "../../support/daemon.ts";

/** Collects events of the SDK's stream, and waits for one. */
function collect(stream: AsyncIterable<unknown>) {
  const heard: { type: string; properties: Record<string, unknown> }[] = [];
  const waiting = new Set<() => void>();
  const reading = (async () => {
    for await (const event of stream) {
      if (typeof event !== "object" || event === null || !("type" in event) || !("properties" in event)) continue;
      heard.push({ type: String(event.type), properties: { ...Object(event.properties) } });
      for (const look of [...waiting]) look();
    }
  })();
  return {
    heard,
    reading,
    until: (type: string, nth = 1) =>
      new Promise<Record<string, unknown>>((resolve) => {
        const look = (): void => {
          const found = heard.filter((event) => event.type === type)[nth - 1];
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found.properties);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** What was answered; an error has been thrown before. */
async function data<Data>(answer: Promise<{ data?: Data }>): Promise<NonNullable<Data>> {
  const { data: given } = await answer;
  if (given === undefined || given === null) throw new Error("There is no answer.");
  return given;
}

const parts = (text: string) => [{ type: "text" as const, text }];

test("version 1: create, prompt, events, status, messages, permissions, abort, delete", async () => {
  const daemon = await startDaemon();
  const client = createOpencodeClient({
    baseUrl: `${daemon.url}/opencode`,
    directory: daemon.directory,
    throwOnError: true,
  });
  const stopped = new AbortController();
  const events = await client.event.subscribe({ signal: stopped.signal });
  const listener = collect(events.stream);
  await listener.until("server.connected");

  const session = await data(client.session.create({ body: { title: "from the SDK" } }));
  expect(session.title).toBe("from the SDK");
  const path = { id: session.id };
  const answer = await data(client.session.prompt({ path, body: { parts: parts("tool") } }));
  expect(answer.info.finish).toBe("stop");
  expect(answer.parts.some((part) => part.type === "tool" && part.state.status === "completed")).toBe(true);

  await client.session.promptAsync({ path, body: { parts: parts("permission") } });
  for (const nth of [1, 2]) {
    const asked = await listener.until("permission.asked", nth);
    await client.postSessionIdPermissionsPermissionId({
      path: { id: session.id, permissionID: String(asked.id) },
      body: { response: "once" },
    });
  }
  await listener.until("session.idle", 2);

  await client.session.promptAsync({ path, body: { parts: parts("todo") } });
  await listener.until("session.idle", 3);
  const todos = await data(client.session.todo({ path }));
  expect(todos.length).toBeGreaterThan(0);

  await client.session.promptAsync({ path, body: { parts: parts("hang") } });
  await listener.until("session.status", 7);
  const busy = await data(client.session.status());
  expect(busy[session.id]).toEqual({ type: "busy" });
  await client.session.abort({ path });
  const idle = await data(client.session.status());
  expect(idle).toEqual({});

  const messages = await data(client.session.messages({ path }));
  expect(messages.filter(({ info }) => info.role === "user")).toHaveLength(4);
  const sessions = await data(client.session.list());
  expect(sessions.map(({ id }) => id)).toEqual([session.id]);
  const providers = await data(client.config.providers());
  expect(providers.providers.map(({ id }) => id)).toContain("mock");
  expect((await data(client.app.agents())).map(({ name }) => name)).toContain("build");
  expect((await client.session.delete({ path })).data).toBe(true);
  stopped.abort();
});

test("version 2: create, prompt, questions, permissions, status, messages, delete", async () => {
  const daemon = await startDaemon();
  const client = createNextClient({
    baseUrl: `${daemon.url}/opencode`,
    directory: daemon.directory,
    throwOnError: true,
  });
  const stopped = new AbortController();
  const events = await client.event.subscribe({}, { signal: stopped.signal });
  const listener = collect(events.stream);
  await listener.until("server.connected");

  const session = await data(client.session.create({ title: "from the next SDK" }));
  const sessionID = session.id;
  const answer = await data(client.session.prompt({ sessionID, parts: parts("echo hello") }));
  expect(answer.parts.some((part) => part.type === "text" && part.text === "hello")).toBe(true);

  await client.session.promptAsync({ sessionID, parts: parts("question") });
  const question = await listener.until("question.asked");
  const questions = await data(client.question.list());
  expect(questions.map(({ id }) => id)).toEqual([question.id]);
  await client.question.reply({ requestID: String(question.id), answers: [["JavaScript"], ["Tests"]] });
  await listener.until("session.idle", 2);

  await client.session.promptAsync({ sessionID, parts: parts("permission") });
  const asked = await listener.until("permission.asked");
  const permissions = await data(client.permission.list());
  expect(permissions.map(({ id }) => id)).toEqual([asked.id]);
  await client.permission.reply({ requestID: String(asked.id), reply: "always" });
  const second = await listener.until("permission.asked", 2);
  await client.permission.reply({ requestID: String(second.id), reply: "reject", message: "Not now." });
  await listener.until("session.idle", 3);

  const messages = await data(client.session.messages({ sessionID }));
  expect(messages.map(({ info }) => info.role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
  expect((await client.session.status()).data).toEqual({});
  const named = await data(client.session.update({ sessionID, title: "renamed" }));
  expect(named.title).toBe("renamed");
  expect((await client.session.delete({ sessionID })).data).toBe(true);
  await listener.until("session.deleted");
  stopped.abort();
});
