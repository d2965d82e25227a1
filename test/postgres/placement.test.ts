/** Where sessions run: placed by host and label, waiting when nobody fits, moved when idle, handed over by a drain. */
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Placement } from "../../src/protocol/placement.ts";
import type { HostSummary } from "../../src/protocol/resources.ts";
import { chooseHost } from "../../src/runtime/session/placement.ts";
import type { Client } from "../../src/sdk/index.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { databaseOf, urlOf } from "../support/postgres.ts";
import { databaseUrl, homeOf, startHost, TOKEN } from "../support/postgres-hosts.ts";

const TIMEOUT_MS = 120_000;
const wait = { timeout: TIMEOUT_MS, interval: 50 };
const leaseMs = 3_000;

type Options = Parameters<typeof startDaemon>[0];

/** Hosts inside this process, on one database. */
async function openCluster(): Promise<
  (more?: Options) => Promise<TestDaemon & { readonly id: string; readonly data: string }>
> {
  const url = urlOf(await databaseOf(temporaryFolder()));
  return async (more) => {
    const data = more?.data ?? join(temporaryFolder(), "data");
    const daemon = await startDaemon({ store: "postgres", databaseUrl: url, token: TOKEN, leaseMs, ...more, data });
    const id = (await hostsOf(daemon)).find(({ self }) => self)?.id ?? "";
    return { ...daemon, id, data };
  };
}

const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

async function hostsOf({ url }: { readonly url: string }): Promise<readonly HostSummary[]> {
  const answer: { hosts: HostSummary[] } = JSON.parse(await (await fetch(`${url}/v1/hosts`, { headers })).text());
  return answer.hosts;
}

async function post(url: string, path: string, body: object = {}): Promise<{ status: number; body: string }> {
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.text() };
}

async function placementOf(client: Client, id: string): Promise<Placement | undefined> {
  return (await client.session(id).get({ limit: 0 })).placement;
}

async function placements(client: Client, id: string): Promise<unknown[]> {
  const { events } = await client.session(id).listEvents({ limit: 1_000 });
  return events.flatMap((event) =>
    event.type === "session.updated" && event.data.placement !== undefined ? [event.data.placement] : [],
  );
}

test("the least loaded host that lives, fits and has room is chosen; of equals the one that was asked", () => {
  const host = (id: string, more: Partial<HostSummary> = {}): HostSummary => ({
    id,
    url: "",
    version: "1",
    startedAt: "",
    alive: true,
    self: false,
    takeOver: false,
    labels: [],
    maxSessions: null,
    draining: false,
    openSessions: 1,
    homeOf: 1,
    ...more,
  });
  const chosen = (wanted: string, ...hosts: HostSummary[]): string | null => chooseHost(hosts, wanted)?.id ?? null;
  expect(chosen("any", host("a"), host("b", { openSessions: 0 }))).toBe("b");
  expect(chosen("any", host("a"), host("b", { self: true, homeOf: 9 }))).toBe("b");
  expect(chosen("any", host("a", { homeOf: 2 }), host("b"))).toBe("b");
  expect(chosen("any", host("a", { openSessions: 9 }), host("b", { alive: false }))).toBe("a");
  expect(chosen("any", host("a", { draining: true }), host("b", { maxSessions: 1 }))).toBeNull();
  expect(chosen("label:gpu", host("a"), host("b", { openSessions: 9, labels: ["x", "gpu"] }))).toBe("b");
  expect(chosen("label:gpu", host("a"))).toBeNull();
  expect(chosen("host:b", host("a"), host("b", { openSessions: 9 }))).toBe("b");
  expect(chosen("host:c", host("a"), host("b"))).toBeNull();
});

test("new sessions go to the host that is asked for, by id or by label", { timeout: TIMEOUT_MS }, async () => {
  const start = await openCluster();
  const [one, two] = [await start(), await start({ label: ["gpu", "repo=foo"] })];
  const { directory } = one;
  for (const [id, placement] of [
    ["by-label", "label:gpu"],
    ["by-other-label", "label:repo=foo"],
    ["by-id", `host:${two.id}`],
  ] as const) {
    await one.client.create({ id, agent: "mock", directory, placement });
    expect(await placementOf(one.client, id)).toEqual({ wanted: placement, host: two.id, waiting: null });
    expect((await one.client.session(id).run("echo there")).text).toBe("there");
  }
  await one.client.create({ id: "here", agent: "mock", directory });
  expect(await placementOf(two.client, "here")).toEqual({ wanted: null, host: one.id, waiting: null });
  // The least loaded of all: three are open on the other one.
  await two.client.create({ id: "anywhere", agent: "mock", directory, placement: "any" });
  expect(await placementOf(two.client, "anywhere")).toMatchObject({ host: one.id });
  // What the other host refuses is refused here.
  const missing = { agent: "mock", directory: "/no/such/folder", placement: "label:gpu" };
  await expect(one.client.create({ id: "refused", ...missing })).rejects.toMatchObject({ code: "directory_not_found" });
  await expect(one.client.create({ id: "by-id", agent: "mock", directory, placement: "any" })).rejects.toMatchObject({
    code: "session_already_exists",
  });
  for (const placement of ["gpu", "label:", "host:", "ANY"]) {
    const refused = one.client.create({ agent: "mock", directory, placement });
    await expect(refused).rejects.toMatchObject({ code: "invalid_request" });
  }
});

test("without a host that fits a session waits and says so; the first one that comes takes it", {
  timeout: TIMEOUT_MS,
}, async () => {
  const start = await openCluster();
  const one = await start({ takeOver: true });
  const session = await one.client.create({ id: "s", agent: "mock", directory: one.directory, placement: "label:gpu" });
  await one.client.create({ id: "t", agent: "mock", directory: one.directory, placement: "label:gpu" });
  const waiting = "It waits for a host with the label gpu.";
  expect(await placementOf(one.client, "s")).toEqual({ wanted: "label:gpu", host: null, waiting, position: 1 });
  expect(await placementOf(one.client, "t")).toMatchObject({
    waiting: expect.stringContaining("behind 1 other."),
    position: 2,
  });
  expect(await placements(one.client, "s")).toEqual([{ wanted: "label:gpu", host: null, waiting, position: 1 }]);
  // Prompts are stored for the host that comes, once for each key.
  const message = {
    method: "POST",
    headers: { ...headers, "idempotency-key": "k" },
    body: '{"message":"echo queued"}',
  };
  for (const { headers: answer, status } of [
    await fetch(`${one.url}/v1/sessions/s/messages`, message),
    await fetch(`${one.url}/v1/sessions/s/messages`, message),
  ]) {
    expect([status, answer.get("franca-waiting")]).toEqual([204, waiting]);
  }
  const { opencodeId } = await session.get();
  const parts = [{ type: "text", text: "echo of OpenCode" }];
  expect(await post(one.url, `/opencode/session/${opencodeId}/prompt_async`, { parts })).toMatchObject({ status: 204 });
  const dropped = await session.prompt("echo dropped");
  await session.dropQueued(dropped);
  await expect(session.dropQueued(dropped)).rejects.toMatchObject({ code: "prompt_not_found" });
  const attachments = [{ path: join(one.directory, "file") }];
  await expect(session.prompt("read", { attachments })).rejects.toMatchObject({ code: "host_unavailable" });
  await expect(session.abort()).rejects.toMatchObject({ code: "session_owned" });
  expect((await session.get()).queue.map(({ preview }) => preview)).toEqual(["echo queued", "echo of OpenCode"]);
  const two = await start({ label: ["gpu"] });
  for (const id of ["s", "t"]) {
    await expect.poll(() => placementOf(one.client, id), wait).toMatchObject({ host: two.id, waiting: null });
    await expect.poll(() => placements(one.client, id), wait).toHaveLength(2);
  }
  expect((await session.run("echo at last")).text).toBe("at last");
  const { events } = await session.listEvents({ limit: 1_000 });
  const started = events.flatMap((event) => (event.type === "turn.started" ? [event.data.prompt_id] : []));
  expect(new Set(started).size).toBe(3);
  expect(started).toHaveLength(3);
  const texts = events.flatMap((event) => (event.type === "item.completed" ? [JSON.stringify(event.data.item)] : []));
  for (const text of ["queued", "of OpenCode", "at last"]) {
    expect(texts.filter((one) => one.includes(`"${text}"`))).toHaveLength(1);
  }
  expect(texts.join()).not.toContain("dropped");
});

test("hosts are full at their limit: what comes then waits for room, in order", { timeout: TIMEOUT_MS }, async () => {
  const start = await openCluster();
  const one = await start({ maxSessions: 1 });
  const create = (id: string) => one.client.create({ id, agent: "mock", directory: one.directory, placement: "any" });
  for (const id of ["first", "second", "third"]) await create(id);
  expect(await placementOf(one.client, "first")).toMatchObject({ host: one.id, waiting: null });
  for (const [at, id] of ["second", "third"].entries()) {
    const waiting = expect.stringContaining("full");
    expect(await placementOf(one.client, id)).toMatchObject({ host: null, waiting, position: at + 1 });
  }
  const queued = await one.client.session("second").prompt("echo room");
  await one.client.session("first").delete();
  await expect.poll(() => placementOf(one.client, "second"), wait).toMatchObject({ host: one.id, waiting: null });
  expect(await placementOf(one.client, "third")).toMatchObject({ host: null, position: 1 });
  const ended = async (): Promise<unknown[]> => {
    const { events } = await one.client.session("second").listEvents({ limit: 1_000 });
    return events.flatMap((event) => (event.type === "turn.started" ? [event.data.prompt_id] : []));
  };
  await expect.poll(ended, wait).toEqual([queued]);
});

test("only a host that the placement names takes over", { timeout: TIMEOUT_MS }, async () => {
  const start = await openCluster();
  const [one, two, three] = [
    await start({ label: ["gpu"] }),
    await start({ takeOver: true }),
    await start({ label: ["gpu"] }),
  ];
  const create = { agent: "mock", directory: one.directory };
  await one.client.create({ id: "labelled", ...create, placement: `label:gpu` });
  const host = (await placementOf(two.client, "labelled"))?.host;
  const [owner, heir] = host === one.id ? [one, three] : [three, one];
  await owner.client.create({ id: "pinned", ...create, placement: `host:${owner.id}` });
  await owner.client.create({ id: "plain", ...create });
  await owner.close();
  expect((await two.client.session("labelled").run("echo by label")).text).toBe("by label");
  expect(await placementOf(two.client, "labelled")).toMatchObject({ host: heir.id });
  expect((await heir.client.session("plain").run("echo taken over")).text).toBe("taken over");
  expect(await placementOf(two.client, "plain")).toMatchObject({ host: two.id });
  const waiting = `It waits for host ${owner.id}, and no other may run it.`;
  expect(await placementOf(two.client, "pinned")).toMatchObject({ host: owner.id, waiting });
  // Its prompts wait for that host, and run nowhere else.
  const queued = await two.client.session("pinned").prompt("echo back");
  expect((await heir.client.session("pinned").get()).queue).toEqual([{ prompt_id: queued, preview: "echo back" }]);
  const again = await start({ data: owner.data });
  expect(again.id).toBe(owner.id);
  const items = async (): Promise<string> => JSON.stringify((await two.client.session("pinned").get()).items);
  await expect.poll(items, wait).toContain('"back"');
  expect(await placementOf(two.client, "pinned")).toMatchObject({ host: owner.id, waiting: null });
});

/** Of one host, by name and labels. */
async function metricsOf({ client }: TestDaemon): Promise<ReadonlyMap<string, number>> {
  const samples = [...(await client.metrics()).matchAll(/^(franca_\S+) (\S+)$/gm)];
  return new Map(samples.map(([, name = "", value = ""]) => [name, Number(value)]));
}

test("metrics of a host: open sessions, lease, takeovers, fenced writes, lag, connections, waiting sessions", {
  timeout: TIMEOUT_MS,
}, async () => {
  const start = await openCluster();
  const [one, two] = [await start(), await start({ takeOver: true })];
  await one.client.create({ id: "s", agent: "mock", directory: one.directory });
  await one.client.create({ id: "waits", agent: "mock", directory: one.directory, placement: "label:none" });
  const before = await metricsOf(one);
  expect(before.get("franca_host_sessions")).toBe(1);
  expect(before.get("franca_host_lease_seconds")).toBeGreaterThan(0);
  expect(before.get("franca_host_lease_seconds")).toBeLessThanOrEqual((leaseMs / 1000) * 0.75);
  expect(before.get("franca_host_leases_lost_total")).toBe(0);
  expect(before.get('franca_database_connections{state="open"}')).toBeGreaterThan(0);
  expect(before.get('franca_database_connections{state="waiting"}')).toBe(0);
  expect(before.get("franca_notify_lag_seconds")).toBeLessThan(60);
  await one.close();
  expect((await two.client.session("s").run("echo taken")).text).toBe("taken");
  await expect.poll(async () => (await metricsOf(two)).get("franca_waiting_sessions"), wait).toBe(1);
  const after = await metricsOf(two);
  expect(after.get("franca_host_takeovers_total")).toBe(1);
  expect(after.get("franca_host_fenced_writes_total")).toBe(0);
});

test("an idle session is moved, through any host, and only to one that can run it", {
  timeout: TIMEOUT_MS,
}, async () => {
  const start = await openCluster();
  const [one, two, three] = [await start(), await start({ label: ["gpu"] }), await start()];
  await one.client.create({ id: "s", agent: "mock", directory: one.directory });
  const session = three.client.session("s");
  await session.run("echo before");
  const path = "/v1/sessions/s/move";
  expect(await post(three.url, path, { host: two.id })).toMatchObject({ status: 204 });
  expect(await placementOf(one.client, "s")).toEqual({ wanted: null, host: two.id, waiting: null });
  expect(await placements(one.client, "s")).toEqual([{ wanted: null, host: two.id, waiting: null }]);
  expect((await session.run("echo after")).text).toBe("after");
  expect(await placementOf(one.client, "s")).toMatchObject({ host: two.id });

  await session.prompt("hang");
  await expect.poll(async () => (await session.get()).status, wait).toBe("running");
  expect(await post(three.url, path, { host: one.id })).toMatchObject({ status: 409 });
  await session.abort();
  await expect.poll(async () => (await session.get()).status, wait).toBe("idle");
  expect((await post(one.url, path, { host: "nobody" })).body).toContain("There is no host nobody");
  expect(await post(one.url, "/v1/sessions/none/move", { host: two.id })).toMatchObject({ status: 404 });

  await one.client.create({ id: "labelled", agent: "mock", directory: one.directory, placement: "label:gpu" });
  expect((await post(one.url, "/v1/sessions/labelled/move", { host: one.id })).body).toContain("no label gpu");
  await one.client.create({ id: "pinned", agent: "mock", directory: one.directory, placement: `host:${one.id}` });
  expect(await post(one.url, "/v1/sessions/pinned/move", { host: two.id })).toMatchObject({ status: 204 });
  expect(await placementOf(one.client, "pinned")).toEqual({ wanted: `host:${two.id}`, host: two.id, waiting: null });
});

test("a drained host ends its turns and takes nothing new; others take its sessions", {
  timeout: TIMEOUT_MS,
}, async () => {
  const start = await openCluster();
  const [one, two] = [await start(), await start({ takeOver: true })];
  const { directory } = one;
  await one.client.create({ id: "idle", agent: "mock", directory });
  const busy = await one.client.create({ id: "busy", agent: "mock", directory });
  await busy.prompt("permission");
  await expect.poll(async () => (await busy.get()).pendingPermissions.length, wait).toBe(1);
  expect(await post(two.url, `/v1/hosts/${one.id}/drain`)).toMatchObject({ status: 204 });
  expect(await post(two.url, "/v1/hosts/nobody/drain")).toMatchObject({ status: 404 });
  const openThere = async () => (await hostsOf(two)).find(({ id }) => id === one.id)?.openSessions;
  await expect.poll(openThere, wait).toBe(1);
  // Through the drained host too: the other one runs it.
  expect((await one.client.session("idle").run("echo elsewhere")).text).toBe("elsewhere");
  expect(await placementOf(one.client, "idle")).toMatchObject({ host: two.id });
  await one.client.create({ id: "new", agent: "mock", directory, placement: "any" });
  expect(await placementOf(one.client, "new")).toMatchObject({ host: two.id });
  for (let asked = 0; asked < 2; asked += 1) {
    await expect.poll(async () => (await busy.get()).pendingPermissions.length, wait).toBe(1);
    const [permission] = (await busy.get()).pendingPermissions;
    await busy.replyPermission(permission?.permission_id ?? "", "once");
  }
  await expect.poll(openThere, wait).toBe(0);
  expect((await busy.get()).lastEnd).toMatchObject({ reason: "completed" });
  expect((await busy.run("echo moved on")).text).toBe("moved on");
  expect(await placementOf(one.client, "busy")).toMatchObject({ host: two.id });
});

test("SIGTERM with --drain: the turn ends by itself, and the next prompt runs on another host", {
  timeout: TIMEOUT_MS,
}, async () => {
  const url = await databaseUrl(temporaryFolder());
  const lease = ["--lease-ms", String(leaseMs)];
  const one = await startHost(url, {
    home: homeOf("one"),
    args: [...lease, "--drain", "--label", "a", "--max-sessions", "9"],
  });
  const two = await startHost(url, { home: homeOf("two"), args: [...lease, "--take-over"] });
  const session = await one.client.create({ id: "s", agent: "mock", directory: one.home });
  await two.client.create({ id: "other", agent: "mock", directory: two.home });
  // A turn of another host is not waited for.
  await two.client.session("other").prompt("hang");
  await session.prompt("long 3");
  const there = two.client.session("s");
  await expect.poll(async () => (await there.get()).status, wait).toBe("running");
  expect((await hostsOf(two))[0]).toMatchObject({ id: "one", labels: ["a"], maxSessions: 9 });
  const gone = once(one.child, "exit");
  one.child.kill("SIGTERM");
  expect(await gone).toEqual([0, null]);
  expect((await there.get()).lastEnd).toMatchObject({ reason: "completed" });
  expect((await there.run("echo next")).text).toBe("next");
  expect(await placementOf(two.client, "s")).toMatchObject({ host: "two" });
});
