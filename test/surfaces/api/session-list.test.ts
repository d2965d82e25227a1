/** `GET /v1/sessions`: page by page, the newest first, and only those that were asked for. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionList } from "../../../src/protocol/resources.ts";
import { startDaemon, type TestDaemon } from "../../support/daemon.ts";

const ids = ({ sessions }: Pick<SessionList, "sessions">): string[] => sessions.map(({ sessionId }) => sessionId);

async function filled(store: "memory" | "sqlite"): Promise<TestDaemon> {
  const daemon = await startDaemon({ store });
  mkdirSync(join(daemon.directory, "other"));
  for (let n = 1; n <= 7; n += 1) {
    const directory = n === 3 ? join(daemon.directory, "other") : daemon.directory;
    await daemon.client.create({ id: `s${n}`, agent: "mock", directory, title: `Title ${n === 5 ? "ÄPFEL Five" : n}` });
  }
  return daemon;
}

test.each(["memory", "sqlite"] as const)("%s: pages are complete, in order and without a repeat", async (store) => {
  const { client } = await filled(store);
  const first = await client.listSessions({ limit: 3 });
  expect(ids(first)).toEqual(["s7", "s6", "s5"]);
  // What is created or deleted meanwhile moves nothing on the pages to come.
  await client.create({ id: "s8", agent: "mock" });
  await client.session("s6").delete();
  const second = await client.listSessions({ limit: 3, cursor: first.nextCursor ?? "" });
  expect(ids(second)).toEqual(["s4", "s3", "s2"]);
  const third = await client.listSessions({ limit: 3, cursor: second.nextCursor ?? "" });
  expect(third).toMatchObject({ nextCursor: null, sessions: [{ sessionId: "s1" }] });
  expect(ids(await client.listSessions({ limit: 7 }))).toHaveLength(7);
  expect(await client.listSessions({ limit: 7 })).toMatchObject({ nextCursor: null });
  expect(ids({ sessions: await client.sessions() })).toEqual(["s8", "s7", "s5", "s4", "s3", "s2", "s1"]);
});

test.each(["memory", "sqlite"] as const)("%s: filters hold together", async (store) => {
  const { client, directory } = await filled(store);
  const found = async (query: object) => ids(await client.listSessions(query));
  expect(await found({ directory: join(directory, "other") })).toEqual(["s3"]);
  expect(await found({ agent: "claude" })).toEqual([]);
  expect(await found({ status: "running" })).toEqual([]);
  expect(await found({ status: "idle", agent: "mock", q: "five" })).toEqual(["s5"]);
  // No query that the random name of the test's folder could contain: directories are searched too.
  expect(await found({ q: "TITLE 4" })).toEqual(["s4"]);
  await client.create({ id: "named-by-hand", agent: "mock" });
  expect(await found({ q: "NAMED-BY" })).toEqual(["named-by-hand"]);
  expect(await found({ q: "%" })).toEqual([]);
  expect(await found({ directory, limit: 2 })).toEqual(["s7", "s6"]);
});

test("a page that cannot be is refused", async () => {
  const { url } = await startDaemon();
  for (const query of ["limit=0", "limit=1001", "cursor=x", "cursor=-1", "status=sleeping"]) {
    const response = await fetch(`${url}/v1/sessions?${query}`);
    expect([query, response.status]).toEqual([query, 400]);
  }
});
