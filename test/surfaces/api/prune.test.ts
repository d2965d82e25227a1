/** Sessions are deleted for their age where they are written: none that is used meanwhile is ever deleted. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { remoteDoor } from "../../../src/cli/door-remote.ts";
import { startDaemon, type TestDaemon } from "../../support/daemon.ts";

const ask = async ({ url }: TestDaemon, { id, since }: { id: string; since: string }) => {
  const response = await fetch(`${url}/v1/sessions/${id}?idleSince=${encodeURIComponent(since)}`, { method: "DELETE" });
  const { status } = response;
  const body: { code?: string } = status === 204 ? {} : JSON.parse(await response.text());
  return { status, code: body.code };
};

const idsOf = async ({ client }: TestDaemon): Promise<string[]> =>
  (await client.sessions()).map(({ sessionId }) => sessionId).sort();

test("idleSince: a session that works, or has changed since, is not deleted", async () => {
  const daemon = await startDaemon();
  const { client, directory } = daemon;
  await client.create({ id: "old", agent: "mock", directory });
  await client.create({ id: "busy", agent: "mock", directory });
  const { updatedAt } = await client.session("old").get();
  await client.session("busy").prompt("hang");
  const future = new Date(Date.now() + 60_000).toISOString();
  const before = new Date(Date.parse(updatedAt) - 1).toISOString();
  expect(await ask(daemon, { id: "busy", since: future })).toEqual({ status: 409, code: "session_busy" });
  expect(await ask(daemon, { id: "old", since: before })).toEqual({ status: 409, code: "session_busy" });
  expect(await ask(daemon, { id: "old", since: "yesterday" })).toMatchObject({ status: 400 });
  expect(await idsOf(daemon)).toEqual(["busy", "old"]);
  expect(await ask(daemon, { id: "old", since: updatedAt })).toMatchObject({ status: 204 });
  expect(await ask(daemon, { id: "old", since: updatedAt })).toEqual({ status: 404, code: "session_not_found" });
  expect(await idsOf(daemon)).toEqual(["busy"]);
});

/** The daemon's address, where something happens right before the first deletion is passed on. */
async function addressBefore(daemon: TestDaemon, happens: () => Promise<unknown>): Promise<string> {
  let isFirst = true;
  const server = createServer(async (incoming, outgoing) => {
    const { method, headers, url: path } = incoming;
    if (method === "DELETE" && isFirst) {
      isFirst = false;
      await happens();
    }
    const { host } = new URL(daemon.url);
    const passed = request(`${daemon.url}${path}`, { method, headers: { ...headers, host } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : "";
}

test("franca sessions prune leaves a session alone that begins to work after it was listed", async () => {
  const daemon = await startDaemon();
  const { client, directory } = daemon;
  for (const id of ["one", "two", "three"]) await client.create({ id, agent: "mock", directory });
  for (const now = Date.now(); Date.now() === now; ) await new Promise(setImmediate);
  const url = await addressBefore(daemon, async () => {
    for (const id of ["one", "two"]) await client.session(id).prompt(id === "one" ? "hang" : "echo used");
  });
  const door = remoteDoor({ url, token: false, data: directory });
  expect(await door.prune({ olderThanMs: 0 })).toEqual(["three"]);
  expect(await idsOf(daemon)).toEqual(["one", "two"]);
  expect((await client.session("one").get()).status).toBe("running");
});
