/** Webhooks: at least once, in order, signed, from a durable cursor; and nobody but the person can set one. */
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { Webhook } from "../../src/protocol/webhooks.ts";
import { connect } from "../../src/sdk/index.ts";
import type { DaemonOptions } from "../../src/server/compose.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openReceiver, type Receiver } from "../support/webhook-receiver.ts";

const TOKEN = "a-token-for-webhooks";

async function startWith(hook: Partial<Webhook> & { url: string }, options: Partial<DaemonOptions> = {}) {
  const daemon = await startDaemon({
    token: TOKEN,
    webhooks: { test: hook },
    webhookAllow: ["127.0.0.1"],
    webhookDelayMs: 5,
    ...options,
  });
  return { daemon, call: caller(daemon, TOKEN) };
}

/** Answers with status and JSON. */
const caller = (daemon: TestDaemon, token: string) => async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${daemon.url}/v1/webhooks${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text === "" ? null : JSON.parse(text) };
};

async function runTurns(daemon: TestDaemon, id: string, prompts: readonly string[]): Promise<void> {
  const session = await daemon.client.create({ id, agent: "mock", directory: daemon.directory });
  for (const prompt of prompts) await session.run(prompt);
}

const sequencesOf = (receiver: Receiver, session: string): number[] => [
  ...new Set(receiver.received.filter(({ body }) => body.session_id === session).map(({ body }) => body.sequence)),
];

describe("deliveries", () => {
  test("a turn's end arrives signed, with ids, reason and usage, and without what was said", async () => {
    const receiver = await openReceiver();
    const secretFile = join(temporaryFolder(), "secret");
    const key = Buffer.from("thirty-two bytes of secret value");
    writeFileSync(secretFile, `whsec_${key.toString("base64")}\n`);
    const { daemon } = await startWith({ url: receiver.url, secretFile, events: ["turn.ended"] });
    await runTurns(daemon, "quiet", ["echo private-words"]);
    await receiver.until(() => receiver.received.length === 1);
    const [delivery] = receiver.received;
    const { text = "", headers } = delivery ?? {};
    expect(JSON.parse(text)).toMatchObject({
      id: expect.stringMatching(/^quiet:\d+$/),
      type: "turn.ended",
      session_id: "quiet",
      turn_id: "quiet:t1",
      agent: "mock",
      data: { reason: "completed", evidence: "signal", usage: { tokens: { output: expect.any(Number) } } },
    });
    expect(text).not.toContain("private-words");
    expect(text).not.toContain(daemon.directory);
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = headers ?? {};
    expect(id).toBe(JSON.parse(text).id);
    expect(Math.abs(Number(at) * 1000 - Date.now())).toBeLessThan(60_000);
    expect(signature).toBe(`v1,${createHmac("sha256", key).update(`${id}.${at}.${text}`).digest("base64")}`);
  });

  test("with content, the answer, the folder and requests come too; a template is filled in", async () => {
    const receiver = await openReceiver();
    const { daemon, call } = await startWith({
      url: receiver.url,
      content: true,
      events: ["turn.ended", "requires_action", "resolved"],
    });
    const template = { type: "{type}", text: "{summary}", list: [{ chat: 7, reason: "{reason}", said: "{text}" }] };
    await call("POST", "/chat", { url: receiver.url, events: ["turn.ended"], content: true, template });
    const session = await daemon.client.create({ id: "open", agent: "mock", directory: daemon.directory });
    await session.run("permission", { onPermission: () => "once" });
    await receiver.until(() => receiver.received.length === 6);
    const bodies = receiver.received.map(({ text }) => JSON.parse(text));
    const plain = bodies.filter(({ id }) => id !== undefined);
    expect(plain.map(({ type }) => type)).toEqual([
      "requires_action",
      "resolved",
      "requires_action",
      "resolved",
      "turn.ended",
    ]);
    expect(plain[0]).toMatchObject({
      data: { kind: "permission", status: "requested", request_id: "open:p1" },
      content: { directory: daemon.directory, text: expect.any(String) },
    });
    const answer: string = plain[4].content.text;
    expect(answer.length).toBeGreaterThan(0);
    expect(bodies.find(({ id }) => id === undefined)).toEqual({
      type: "turn.ended",
      text: expect.stringMatching(/^mock: the turn ended: completed \(\d+ tokens/),
      list: [{ chat: 7, reason: "completed", said: answer }],
    });
  });

  test("a budget that is reached is sent, with its numbers", async () => {
    const receiver = await openReceiver();
    const { daemon } = await startWith({ url: receiver.url, events: ["budget"] });
    const budget = { session: { toolCalls: 1 } };
    const session = await daemon.client.create({ id: "poor", agent: "mock", directory: daemon.directory, budget });
    expect((await session.run("tool")).reason).toBe("budget");
    await receiver.until(() => receiver.received.some(({ text }) => text.includes('"reached"')));
    const reached = receiver.received.map(({ text }) => JSON.parse(text)).find(({ data }) => data.status === "reached");
    expect(reached).toMatchObject({
      type: "budget",
      data: { scope: "session", kind: "tool_calls", limit: 1, used: 2 },
    });
  });

  test("a receiver that is killed and comes back misses nothing, in order; what comes twice has the same id", async () => {
    let fail = true;
    const receiver = await openReceiver(({ body }) => (fail && body.session_id === "one" ? 500 : 204));
    const { daemon, call } = await startWith({ url: receiver.url, events: ["turn.started", "turn.ended"] });
    await runTurns(daemon, "one", ["echo a", "echo b"]);
    await runTurns(daemon, "two", ["echo c"]);
    // Another session is not held up by one whose events fail.
    await receiver.until(() => sequencesOf(receiver, "two").length === 2);
    expect(sequencesOf(receiver, "one")).toHaveLength(1);
    await receiver.close();
    await runTurns(daemon, "three", ["echo d", "echo e"]);
    fail = false;
    await receiver.open();
    await receiver.until(() => receiver.ids().length === 10);
    for (const session of ["one", "two", "three"]) {
      const sequences = sequencesOf(receiver, session);
      expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
    }
    const first = receiver.received.filter(({ body }) => body.id === receiver.ids()[0]);
    expect(new Set(first.map(({ text }) => text)).size).toBe(1);
    await vi.waitUntil(async () => (await call("GET", "")).body.webhooks[0].pending === 0, { timeout: 30_000 });
    expect((await call("GET", "")).body.webhooks[0]).toMatchObject({ delivered: 10, deadLetters: 0, lastError: null });
  });

  test("the cursor survives a restart: what happened while nobody could be reached is delivered after it", async () => {
    const receiver = await openReceiver();
    await receiver.close();
    const data = join(temporaryFolder(), "data");
    const options = { data, store: "sqlite" as const, webhookDelayMs: 3_600_000 };
    const first = await startWith({ url: receiver.url, events: ["turn.ended"] }, options);
    await runTurns(first.daemon, "before", ["echo a", "echo b"]);
    await vi.waitUntil(async () => (await first.call("GET", "")).body.webhooks[0].lastError !== null, {
      timeout: 30_000,
    });
    await first.daemon.close();
    await receiver.open();
    const second = await startWith({ url: receiver.url, events: ["turn.ended"] }, options);
    await runTurns(second.daemon, "after", ["echo c"]);
    await receiver.until(() => receiver.ids().length === 3);
    expect(sequencesOf(receiver, "before")).toHaveLength(2);
  });

  test("after ten tries an event is a dead letter, and can be tried again", async () => {
    let status = 503;
    const receiver = await openReceiver(() => status);
    const { daemon, call } = await startWith({ url: receiver.url, events: ["turn.ended"] }, { webhookDelayMs: 0 });
    await runTurns(daemon, "dead", ["echo a"]);
    await vi.waitUntil(async () => (await call("GET", "/test/dead-letters")).body.deadLetters.length === 1, {
      timeout: 30_000,
    });
    expect(receiver.received).toHaveLength(10);
    const [letter] = (await call("GET", "/test/dead-letters")).body.deadLetters;
    expect(letter).toMatchObject({ sessionId: "dead", type: "turn.ended", tries: 10 });
    expect(letter.error).toContain("503");
    status = 200;
    expect((await call("POST", "/test/retry", { ids: ["nothing"] })).body).toEqual({ count: 0 });
    expect((await call("POST", "/test/retry", {})).body).toEqual({ count: 1 });
    await receiver.until(() => receiver.received.length === 11);
    expect(receiver.ids()).toEqual([letter.id]);
  });
});

describe("attacks", () => {
  test("private addresses need the allow list, and a redirect is a failure", async () => {
    const receiver = await openReceiver(() => 307);
    const options = { webhookDelayMs: 0 };
    const closed = await startWith({ url: receiver.url }, { ...options, webhookAllow: [] });
    await runTurns(closed.daemon, "closed", ["echo a"]);
    await vi.waitUntil(async () => (await closed.call("GET", "")).body.webhooks[0].deadLetters > 0, {
      timeout: 30_000,
    });
    expect((await closed.call("GET", "")).body.webhooks[0].lastError).toContain("must be allowed explicitly");
    expect(receiver.received).toEqual([]);
    const open = await startWith({ url: receiver.url }, options);
    await runTurns(open.daemon, "open", ["echo a"]);
    await vi.waitUntil(async () => (await open.call("GET", "")).body.webhooks[0].deadLetters > 0, { timeout: 30_000 });
    expect((await open.call("GET", "")).body.webhooks[0].lastError).toContain("redirects are not followed");
    expect(receiver.received).toHaveLength(10);
  });

  test("a page's credential and a daemon without a token cannot set one; addresses and secrets are never shown", async () => {
    const receiver = await openReceiver();
    const { daemon, call } = await startWith({ url: receiver.url, secretVariable: "NOT_THERE" });
    const { code } = await connect({ url: daemon.url, token: TOKEN }).makeLoginCode();
    const login = await fetch(`${daemon.url}/v1/login`, { method: "POST", body: JSON.stringify({ code }) });
    const page = caller(daemon, JSON.parse(await login.text()).credential);
    const hook = { url: receiver.url };
    for (const refused of [
      await page("POST", "/mine", hook),
      await page("DELETE", "/test"),
      await page("POST", "/test/retry", {}),
    ]) {
      expect(refused).toMatchObject({ status: 403, body: { code: "person_only" } });
    }
    const seen = await page("GET", "");
    expect(seen.body.webhooks).toHaveLength(1);
    expect(seen.body.webhooks[0]).toMatchObject({ address: `http://127.0.0.1:${receiver.port}`, signed: true });
    expect(seen.text).not.toMatch(/secret-path|secret-query/);
    const open = await startDaemon({ token: null });
    expect(await caller(open, "x")("POST", "/mine", hook)).toMatchObject({ status: 403 });
    expect((await call("DELETE", "/test")).body.detail).toContain("config file");
    // A secret that cannot be read means that nothing is sent, not that it is sent unsigned.
    await runTurns(daemon, "unsigned", ["echo a"]);
    await vi.waitUntil(async () => (await call("GET", "")).body.webhooks[0].lastError !== null, { timeout: 30_000 });
    expect(receiver.received).toEqual([]);
  });

  test("wrong webhooks are refused, and say why", async () => {
    const daemon = await startDaemon({ token: TOKEN });
    const call = caller(daemon, TOKEN);
    const url = "https://x.example/";
    const wrong: readonly [object, string][] = [
      [{}, "exactly one"],
      [{ url: "ftp://x.example/" }, "http"],
      [{ url, urlFile: "/a" }, "exactly one"],
      [{ url, events: ["turn.eaten"] }, "events"],
      [{ url, events: [] }, "events"],
      [{ url, secret: "shown" }, "unknown field"],
      [{ url, secretFile: "relative" }, "absolute"],
      [{ url, secretFile: "/a", secretVariable: "B" }, "not both"],
      [{ url, template: { text: "{everything}" } }, "{everything} is not known"],
    ];
    for (const [hook, message] of wrong) {
      const answer = await call("POST", "/x", hook);
      expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(message) } });
    }
    expect(await call("POST", "/a%20b", { url })).toMatchObject({ status: 400 });
    expect(await call("DELETE", "/nobody")).toMatchObject({ status: 404 });
    expect(await call("GET", "/nobody/dead-letters")).toMatchObject({ status: 404 });
  });
});
