/** Sessions driven through another host than their own: our API, and OpenCode's by its own SDK. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createOpencodeClient } from "@opencode-ai/sdk/client";
import { expect, test } from "vitest";
import { openCodeSessionId } from "../../src/projections/opencode/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import type { Session } from "../../src/sdk/index.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { databaseOf, urlOf } from "../support/postgres.ts";
import { TOKEN } from "../support/postgres-hosts.ts";

const TIMEOUT_MS = 120_000;

/** Hosts inside this process, on one database. */
async function startHosts(...options: readonly Parameters<typeof startDaemon>[0][]): Promise<TestDaemon[]> {
  const databaseUrl = urlOf(await databaseOf(temporaryFolder()));
  const hosts: TestDaemon[] = [];
  for (const more of options) {
    const data = join(temporaryFolder(), "data");
    hosts.push(await startDaemon({ store: "postgres", databaseUrl, token: TOKEN, data, ...more }));
  }
  return hosts;
}

async function twoHosts(first: Parameters<typeof startDaemon>[0] = {}): Promise<[TestDaemon, TestDaemon]> {
  const [one, two] = await startHosts(first, {});
  if (one === undefined || two === undefined) throw new Error("There are two hosts.");
  return [one, two];
}

/** The first event of this type that comes after a prompt was sent. */
async function next<Type extends UniversalEvent["type"]>(
  session: Session,
  { after, type }: { after: number; type: Type },
): Promise<Extract<UniversalEvent, { type: Type }>> {
  const isIt = (event: UniversalEvent): event is Extract<UniversalEvent, { type: Type }> => event.type === type;
  for await (const event of session.events({ after })) if (isIt(event)) return event;
  throw new Error(`No ${type} came.`);
}

test("prompts, answers, abort, update, fork and delete through another host", { timeout: TIMEOUT_MS }, async () => {
  const [one, two] = await twoHosts();
  await one.client.create({ id: "s", agent: "mock", directory: one.directory });
  const here = one.client.session("s");
  const there = two.client.session("s");
  expect((await there.run("echo through another host")).text).toBe("through another host");

  // One key, both hosts: one prompt.
  const ids = [];
  for (const session of [there, here, there]) ids.push(await session.prompt("echo once", { idempotencyKey: "k" }));
  expect(new Set(ids).size).toBe(1);
  expect((await there.run("echo after it")).text).toBe("after it");
  const { events } = await here.listEvents({ limit: 1_000 });
  expect(events.filter(({ type }) => type === "turn.started")).toHaveLength(3);

  let { lastSequence } = await there.get();
  await there.prompt("permission");
  for (let asked = 0; asked < 2; asked += 1) {
    const { data, sequence } = await next(there, { after: lastSequence, type: "permission.requested" });
    lastSequence = sequence;
    await there.replyPermission(data.permission_id, "once");
    const again = there.replyPermission(data.permission_id, "once");
    await expect(again).rejects.toMatchObject({ code: "already_answered" });
  }
  expect((await next(there, { after: lastSequence, type: "turn.ended" })).data.reason).toBe("completed");

  ({ lastSequence } = await there.get());
  await there.prompt("question");
  const asked = await next(there, { after: lastSequence, type: "question.requested" });
  await there.replyQuestion(asked.data.question_id, [["Yes"], ["No"]]);
  await next(there, { after: asked.sequence, type: "turn.ended" });

  ({ lastSequence } = await there.get());
  await there.prompt("hang");
  await next(there, { after: lastSequence, type: "turn.started" });
  await there.abort();
  expect((await next(there, { after: lastSequence, type: "turn.ended" })).data.reason).toBe("aborted");

  await there.update({ title: "named by another host" });
  expect((await here.get()).title).toBe("named by another host");
  await expect(there.update({ agentMode: "no such mode" })).rejects.toMatchObject({ code: "mode_not_supported" });
  await there.delete();
  for (const session of [here, there]) {
    await expect(session.get()).rejects.toMatchObject({ code: "session_not_found" });
    await expect(session.prompt("echo")).rejects.toMatchObject({ code: "session_not_found" });
  }
});

test("a file that comes with a prompt is kept by the session's host, or refused with its name", async () => {
  const hostUrl = "http://10.0.0.1:7717";
  const [one, two, far] = await startHosts({}, {}, { hostUrl });
  await one?.client.create({ id: "s", agent: "mock", directory: one.directory });
  await far?.client.create({ id: "far", agent: "mock", directory: far.directory });
  const send = (id: string, data: string) =>
    fetch(`${two?.url}/v1/sessions/${id}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ message: "echo look", attachments: [{ data, mime: "text/plain", filename: "a.txt" }] }),
    });
  expect((await send("s", "aGVsbG8=")).status).toBe(204);
  const { items } = (await one?.client.session("s").get()) ?? { items: [] };
  const file = items.flatMap(({ content }) => content).find((part) => part.type === "file_ref");
  const path = file?.type === "file_ref" ? file.path : "";
  expect(await readFile(path, "utf8")).toBe("hello");
  // Of its host, and gone with the session.
  await two?.client.session("s").delete();
  await expect(readFile(path, "utf8")).rejects.toThrow();
  const refused = await send("far", "aGVsbG8=");
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ code: "host_unavailable", detail: expect.stringContaining(hostUrl) });
});

test("what is on a session's disk: changes come from its host, files are refused with its name", async () => {
  const hostUrl = "http://10.0.0.1:7717";
  const [one, two] = await startHosts({ hostUrl, trustedFolders: [] }, { trustedFolders: [] });
  const directory = one?.directory ?? "";
  await one?.client.create({ id: "s", agent: "mock", directory });
  await one?.client.session("s").run("tool");
  const ask = async (host: TestDaemon | undefined, path: string) => {
    const response = await fetch((host?.url ?? "") + path, { headers: { authorization: `Bearer ${TOKEN}` } });
    return { status: response.status, body: await response.text() };
  };
  const own = await ask(one, "/v1/sessions/s/diff");
  expect(own.status).toBe(200);
  expect(await ask(two, "/v1/sessions/s/diff")).toEqual(own);
  const at = encodeURIComponent(directory);
  for (const path of [
    "/file?path=.",
    "/file/content?path=a",
    "/find?pattern=a",
    "/find/file?query=a",
    "/pty?",
    "/vcs/diff?",
  ]) {
    const refused = await ask(two, `/opencode${path}&directory=${at}`);
    expect([path, refused.status, refused.body]).toEqual([path, 503, expect.stringContaining(hostUrl)]);
  }
  expect((await ask(one, `/opencode/find/file?query=a&directory=${at}`)).status).toBe(200);
  // Another folder, which no session has, is no host's.
  const strange = await ask(two, `/opencode/find/file?query=a&directory=${encodeURIComponent(temporaryFolder())}`);
  expect(strange.status).toBe(403);
});

test("OpenCode's SDK on another host: prompt, permission, abort, delete", { timeout: TIMEOUT_MS }, async () => {
  const [one, two] = await twoHosts();
  await one.client.create({ id: "s", agent: "mock", directory: one.directory });
  const client = createOpencodeClient({
    baseUrl: `${two.url}/opencode`,
    directory: one.directory,
    headers: { authorization: `Bearer ${TOKEN}` },
    throwOnError: true,
  });
  const path = { id: openCodeSessionId(sessionId("s")) };
  const stopped = new AbortController();
  const { stream } = await client.event.subscribe({ signal: stopped.signal });
  const permissions: string[] = [];
  let idle = 0;
  const reading = (async () => {
    for await (const event of stream) {
      const { type, properties }: { type: string; properties: object } = event;
      if (type === "session.idle") idle += 1;
      if (type !== "permission.asked" || !("id" in properties)) continue;
      permissions.push(String(properties.id));
      await client.postSessionIdPermissionsPermissionId({
        path: { ...path, permissionID: String(properties.id) },
        body: { response: "once" },
      });
    }
  })().catch(() => undefined);
  const parts = (text: string) => [{ type: "text" as const, text }];
  const { data: answer } = await client.session.prompt({ path, body: { parts: parts("tool") } });
  expect(answer?.info.finish).toBe("stop");
  await client.session.promptAsync({ path, body: { parts: parts("permission") } });
  await expect.poll(() => [permissions.length, idle], { timeout: TIMEOUT_MS }).toEqual([2, 2]);
  await client.session.promptAsync({ path, body: { parts: parts("hang") } });
  await expect.poll(async () => (await client.session.status()).data, { timeout: TIMEOUT_MS }).toHaveProperty(path.id);
  await client.session.abort({ path });
  await expect.poll(() => idle, { timeout: TIMEOUT_MS }).toBe(3);
  expect((await client.session.update({ path, body: { title: "elsewhere" } })).data?.title).toBe("elsewhere");
  expect((await client.session.delete({ path })).data).toBe(true);
  await expect(one.client.session("s").get()).rejects.toMatchObject({ code: "session_not_found" });
  stopped.abort();
  await reading;
});
