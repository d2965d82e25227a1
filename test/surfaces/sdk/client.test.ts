/** The SDK across cuts: a proxy that breaks connections stands between it and the daemon. */
import { createServer, connect as dial, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import { ApiError, connect, ImpostorError, UnreachableError } from "../../../src/sdk/index.ts";
import { startDaemon } from "../../support/daemon.ts";

/** Cuts every connection after so many bytes from the daemon. */
async function cuttingProxy(
  target: string,
  { bytes }: { bytes: number },
): Promise<{ url: string; cuts: () => number }> {
  const { port } = new URL(target);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((near) => {
    const far = dial(Number(port), "127.0.0.1");
    let passed = 0;
    far.on("data", (chunk) => {
      passed += chunk.length;
      near.write(chunk);
      if (passed < bytes) return;
      cuts += 1;
      near.destroy();
      far.destroy();
    });
    near.pipe(far);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        near.destroy();
        far.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port.");
  return { url: `http://127.0.0.1:${address.port}`, cuts: () => cuts };
}

test("events go on after every cut: nothing lost, nothing twice", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  for await (const _ of session.ask("flood 3000"));
  const { events } = await session.listEvents({ limit: 10_000 });
  const { url, cuts } = await cuttingProxy(daemon.url, { bytes: 300_000 });
  const seen: UniversalEvent[] = [];
  for await (const event of connect({ url }).session("a").events()) {
    seen.push(event);
    if (seen.length === events.length) break;
  }
  expect(seen).toEqual(events);
  expect(cuts()).toBeGreaterThan(2);
});

test("the stream of a turn goes on after a cut, and the prompt runs once", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  const { url, cuts } = await cuttingProxy(daemon.url, { bytes: 300_000 });
  const seen: UniversalEvent[] = [];
  for await (const event of connect({ url }).session("a").ask("flood 3000")) seen.push(event);
  const { events } = await session.listEvents({ limit: 10_000 });
  expect(seen).toEqual(events.filter(({ turn_id }) => turn_id !== null));
  expect(events.filter(({ type }) => type === "turn.started")).toHaveLength(1);
  expect(cuts()).toBeGreaterThan(1);
});

test("every stream has the native lines when they are asked for, also after a cut", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  const raw = { includeRaw: true };
  const asked: UniversalEvent[] = [];
  for await (const event of session.ask("flood 2000")) asked.push(event);
  expect(asked.every((event) => event.raw === null)).toBe(true);
  const { url, cuts } = await cuttingProxy(daemon.url, { bytes: 200_000 });
  const cut: UniversalEvent[] = [];
  for await (const event of connect({ url }).session("a").ask("flood 2000", raw)) cut.push(event);
  expect(cuts()).toBeGreaterThan(0);
  const deltas = cut.filter(({ type }) => type === "item.delta");
  expect(deltas).toHaveLength(2000);
  expect(deltas.every((event) => event.raw !== null)).toBe(true);
  for await (const { event } of daemon.client.events({ after: "0", ...raw })) {
    if (event.type !== "item.delta") continue;
    expect(event.raw).not.toBeNull();
    break;
  }
});

test("a retry has its attempt, its reason and its time, and is gone when it is over", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  const changes = daemon.client.statusChanges()[Symbol.asyncIterator]();
  const retry = { attempt: 1, message: "The scripted model is overloaded.", next: expect.any(Number) };
  const first = changes.next();
  await session.prompt("retry");
  for (let change = await first; ; change = await changes.next()) {
    if (change.done === true) throw new Error("The stream has ended.");
    if (change.value.status !== "retrying") {
      expect(change.value).not.toHaveProperty("retry");
      continue;
    }
    expect(change.value).toMatchObject({ sessionId: "a", retry });
    break;
  }
  for (let change = await changes.next(); change.value?.status !== "idle"; change = await changes.next());
  await changes.return?.();
  expect(await session.get()).not.toHaveProperty("retry");
});

test("errors carry the daemon's code; where nobody answers it is said", async () => {
  const daemon = await startDaemon({ token: "right" });
  await expect(connect({ url: daemon.url, token: "wrong" }).sessions()).rejects.toBeInstanceOf(ImpostorError);
  await expect(connect({ url: daemon.url, token: false }).sessions()).rejects.toMatchObject({
    name: "ApiError",
    code: "token_invalid",
    status: 401,
  });
  const nobody = connect({ url: "http://127.0.0.1:1" });
  await expect(nobody.health()).rejects.toBeInstanceOf(UnreachableError);
  const events = daemon.client.session("none").events()[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toBeInstanceOf(ApiError);
});

test("a signal ends following", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
  for await (const _ of session.ask("echo hi"));
  const controller = new AbortController();
  const types: string[] = [];
  for await (const event of session.events({ signal: controller.signal })) {
    types.push(event.type);
    if (event.type === "turn.ended") controller.abort();
  }
  expect(types.at(-1)).toBe("turn.ended");
});

test("agents, models and modes", async () => {
  const { client } = await startDaemon();
  const agents = await client.agents();
  expect(agents.find(({ id }) => id === "mock")).toMatchObject({
    installed: true,
    capabilities: { permissions: true },
  });
  expect(Array.isArray((await client.models("mock")).models)).toBe(true);
  expect(Array.isArray(await client.modes("mock"))).toBe(true);
  await expect(client.models("nobody")).rejects.toMatchObject({ code: "unsupported_agent" });
});
