/** A prompt as a function call: what `run` and `text` give, who answers requests, and what a signal aborts. */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { agentNames } from "../../../src/protocol/agents.ts";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { connect, TurnError, UsageError } from "../../../src/sdk/index.ts";
import { startDaemon } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";

async function open() {
  const daemon = await startDaemon();
  return daemon.client.create({ agent: "mock", directory: daemon.directory });
}

afterEach(() => vi.unstubAllEnvs());

test("run gives the text, the files, the usage and the reason of the turn", async () => {
  const session = await open();
  expect(await session.run("echo Hello, world")).toMatchObject({
    text: "Hello, world",
    reason: "completed",
    files: [],
  });
  const tool = await session.run("tool");
  expect(tool).toMatchObject({ reason: "completed", error: null, turnId: `${session.id}:t2` });
  expect(tool.files.map(({ path }) => basename(path))).toEqual(["README.md"]);
  expect((await session.run("usage")).usage.tokens.output).toBeGreaterThan(0);
  const failed = await session.run("error");
  expect(failed).toMatchObject({ reason: "error", error: { message: expect.any(String) } });
});

test("handlers answer permissions and questions; without one they are rejected", async () => {
  const session = await open();
  const asked: string[] = [];
  const statuses: string[] = [];
  const onEvent = (event: UniversalEvent): void => {
    if (event.type === "permission.resolved" || event.type === "question.resolved") statuses.push(event.data.status);
  };
  const allowed = await session.run("permission", {
    onPermission: (request) => {
      asked.push(request.action);
      return asked.length === 1 ? "once" : { reply: "reject", message: "not that file" };
    },
    onEvent,
  });
  expect(allowed.reason).toBe("completed");
  expect([asked, statuses]).toEqual([
    ["bash", "edit"],
    ["accept", "reject"],
  ]);

  await session.run("permission", { onEvent });
  await session.run("question", { onEvent });
  expect(statuses.slice(2)).toEqual(["reject", "reject", "rejected"]);

  await session.run("question", {
    onQuestion: ({ questions }) => questions.map(({ options }) => [options[0]?.label ?? ""]),
    onEvent,
  });
  expect(statuses.at(-1)).toBe("answered");
});

test("a handler that throws, or returns nonsense, aborts the turn and is reported", async () => {
  const session = await open();
  const broken = session.run("permission", {
    onPermission: () => {
      throw new Error("the handler is broken");
    },
  });
  await expect(broken).rejects.toThrow("the handler is broken");
  const answer: string = "yes";
  // @ts-expect-error Callers in JavaScript have no compiler to tell them.
  await expect(session.run("permission", { onPermission: () => answer })).rejects.toThrow(
    /onPermission returned "yes"/,
  );
  const ends = (await session.listEvents()).events.filter((event) => event.type === "turn.ended");
  expect(ends.map((event) => event.type === "turn.ended" && event.data.reason)).toEqual(["aborted", "aborted"]);
});

test("text gives the answer as it is written, and throws when the turn does not complete", async () => {
  const session = await open();
  let text = "";
  for await (const piece of session.text("echo Hello, world")) text += piece;
  expect(text).toBe("Hello, world");
  const failing = async (): Promise<void> => {
    for await (const _ of session.text("error"));
  };
  await expect(failing()).rejects.toBeInstanceOf(TurnError);
  await expect(failing()).rejects.toMatchObject({ reason: "error" });
});

test("a signal aborts the turn it belongs to, and no other", async () => {
  const session = await open();
  const first = new AbortController();
  const running = session.run("hang", { signal: first.signal });
  await until(async () => (await session.status()) === "running");
  const second = new AbortController();
  const waiting = session.run("echo second", { signal: second.signal });
  await until(async () => (await session.get()).queue.length === 1);
  second.abort(new Error("changed my mind"));
  await expect(waiting).rejects.toThrow("changed my mind");
  expect(await session.get()).toMatchObject({ status: "running", queue: [] });

  first.abort();
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  await until(async () => (await session.status()) === "idle");
  const { events } = await session.listEvents();
  expect(events.filter(({ type }) => type === "turn.started")).toHaveLength(1);
  expect(events.findLast(({ type }) => type === "turn.ended")).toMatchObject({ data: { reason: "aborted" } });
});

test("with abortTurn: false a signal only ends the wait", async () => {
  const session = await open();
  const controller = new AbortController();
  const running = session.run("hang", {
    signal: controller.signal,
    abortTurn: false,
    onEvent: () => controller.abort(),
  });
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  expect(await session.status()).toBe("running");
});

test("a prompt that another client takes out of the queue is an error, not a wait without end", async () => {
  const session = await open();
  const running = session.run("hang");
  await until(async () => (await session.status()) === "running");
  const waiting = session.run("echo second");
  await until(async () => (await session.get()).queue.length === 1);
  await session.abort({ clearQueue: true });
  await expect(waiting).rejects.toMatchObject({ name: "TurnError", reason: "aborted" });
  expect((await running).reason).toBe("aborted");
});

test("create without options: the daemon makes the id and takes its default agent", async () => {
  const { client } = await startDaemon();
  const session = await client.create();
  expect(session.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(session.created).toMatchObject({ healthy: true, agent: "mock" });
  expect(await session.get()).toMatchObject({ agent: "mock", sessionId: session.id });
});

test("connect without options finds FRANCA_URL, else the daemon of the data folder, else says what to do", async () => {
  const data = join(temporaryFolder(), "data");
  vi.stubEnv("FRANCA_DATA", data);
  await expect(connect().sessions()).rejects.toBeInstanceOf(UsageError);
  await expect(connect().sessions()).rejects.toThrow(/franca daemon start.*start: true/);
  const daemon = await startDaemon({ store: "sqlite", data, token: "of-the-folder" });
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, "token"), "of-the-folder\n", { mode: 0o600 });
  expect(await connect().sessions()).toEqual([]);

  const other = await startDaemon();
  await other.client.create({ id: "here", agent: "mock", directory: other.directory });
  vi.stubEnv("FRANCA_URL", other.url);
  expect((await connect().sessions()).map(({ sessionId }) => sessionId)).toEqual(["here"]);
  expect(await connect({ url: daemon.url }).sessions()).toEqual([]);
});

test("the agents of a daemon are those that have a type (src/protocol/agents.ts)", async () => {
  const { client } = await startDaemon();
  expect((await client.agents()).map(({ id }) => id).sort()).toEqual([...agentNames].sort());
});

/** What is waited for comes by itself: only the look at it is repeated. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await holds()).toBe(true), { timeout: 20_000, interval: 20 });
}
