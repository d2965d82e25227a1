/** Several hosts on one Postgres: who may write, what readers see, and what a lost host or answer leaves. */
import postgres from "postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { EventGroup, EventLog, Owner } from "../../src/runtime/log/contract.ts";
import { openTail } from "../../src/runtime/log/follow.ts";
import { a, b, create, entry, me, other, spans } from "../support/log-contract.ts";
import { administer, databaseOf, openLog, restartServer, serverPort, urlOf } from "../support/postgres.ts";
import { openProxy, type ServerProxy } from "../support/postgres-proxy.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";

const everything = { after: 0, maxBytes: 1e6 };
/** So short that a test can wait for its end; long enough for a busy machine to renew it. */
const short = { leaseMs: 2_000, heartbeatMs: 200 };
const dead = (): boolean => true;

let folder: string;
let logs: EventLog[];
let proxy: ServerProxy;
beforeEach(async () => {
  folder = tempFolder();
  logs = [];
  proxy = await openProxy(serverPort());
});
afterEach(async () => {
  proxy.open(true);
  await Promise.all(logs.map((log) => log.close()));
  await proxy.close();
  removeFolder(folder);
});

async function host(name: string, more: Parameters<typeof openLog>[1] = {}): Promise<EventLog> {
  const log = await openLog(folder, { host: name, ...more });
  logs.push(log);
  return log;
}

const throughProxy = async (): Promise<string> => urlOf(await databaseOf(folder), { port: proxy.port });

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("every host reads every session, and only the owner's host writes to it", async () => {
  const [one, two] = [await host("one"), await host("two")];
  await create(one, a);
  await one.append(entry(a, 1, 3));
  expect(spans(await two.read(a, everything))).toEqual([[1, 3]]);
  await expect(two.append(entry(a, 4, 4))).rejects.toMatchObject({ code: "session_owned" });
  expect(two.cluster?.stats()).toMatchObject({ fencedWrites: 1, takeovers: 0, leasesLost: 0 });
  const holder: Owner = await two.claim(a, other, dead);
  expect(holder).toMatchObject({ ...me, host: { id: "one", alive: true } });
  await one.release(a, me);
  // Closed, but at home on the other host, where its agent's files are.
  expect((await two.claim(a, other, dead)).host).toMatchObject({ id: "one", alive: true });
  expect(spans(await two.read(a, everything))).toEqual([[1, 3]]);
});

test("a reader on another host is woken, and follows one session and all of them without a gap", async () => {
  const [one, two] = [await host("one"), await host("two")];
  await create(one, a);
  await create(two, b);
  const tail = openTail(two);
  const { signal } = new AbortController();
  const read = async (follow: AsyncIterable<EventGroup>, groups: number): Promise<string[]> => {
    const seen: string[] = [];
    for await (const { session, first, last } of follow) {
      seen.push(`${session}${first}-${last}`);
      if (seen.length === groups) break;
    }
    return seen;
  };
  const own = read(tail.follow(a, { after: 0, signal }), 20);
  const all = read(tail.followAll({ after: 0, signal }), 40);
  for (let at = 1; at <= 20; at += 1) await Promise.all([one.append(entry(a, at, at)), two.append(entry(b, at, at))]);
  expect(await own).toEqual(Array.from({ length: 20 }, (_, at) => `a${at + 1}-${at + 1}`));
  const seen = await all;
  for (const name of ["a", "b"]) {
    expect(seen.filter((one) => one.startsWith(name))).toEqual(
      Array.from({ length: 20 }, (_, at) => `${name}${at + 1}-${at + 1}`),
    );
  }
  tail.close();
});

test("what another host writes is read once, however many clients follow it or something else", async () => {
  const [one, two] = [await host("one"), await host("two")];
  const others = Array.from({ length: 10 }, (_, at) => sessionId(`other ${at}`));
  for (const id of [a, ...others]) await create(one, id);
  const tail = openTail(two);
  const stop = new AbortController();
  const heard = Array.from({ length: 20 }, () => 0);
  const follow = async (id: SessionId, onLast: (last: number) => void): Promise<void> => {
    for await (const { last } of tail.follow(id, { after: 0, signal: stop.signal })) onLast(last);
  };
  const following = [
    ...heard.map((_, at) => follow(a, (last) => void heard.splice(at, 1, last))),
    ...others.map((id) => follow(id, () => {})),
  ];
  const appends = 100;
  await one.append(entry(a, 1, 1));
  await expect.poll(() => Math.min(...heard)).toBe(1);
  const before = two.work().rows;
  for (let at = 2; at <= appends; at += 1) {
    await one.append(entry(a, at, at));
    await until(async () => Math.min(...heard) === at);
  }
  // Some are read again when all look for themselves from time to time.
  expect(two.work().rows - before).toBeLessThan(appends * 2);
  stop.abort();
  await Promise.all(following);
  tail.close();
});

test("while one append is held open, a later one does not overtake it for any reader", async () => {
  const [one, two, reader] = [await host("one"), await host("two"), await host("three")];
  await create(one, a);
  await create(two, b);
  const sql = postgres(urlOf(await databaseOf(folder)), { max: 1 });
  const held = await sql.reserve();
  await held.unsafe("BEGIN; UPDATE franca.positions SET position = position + 1");
  const [{ key } = { key: 0 }] = await held.unsafe<{ key: number }[]>("SELECT key FROM franca.sessions WHERE id = 'a'");
  await held.unsafe(
    `INSERT INTO franca.groups (position, session, first, last, body, checksum)
     VALUES ((SELECT position FROM franca.positions), ${key}, 1, 1, '', 0)`,
  );
  const later = two.append(entry(b, 1, 1));
  await until(async () => {
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%franca.append%'";
    return (await administer(await databaseOf(folder), waiting)).length > 0;
  });
  expect(await reader.readAll(everything)).toEqual([]);
  await held.unsafe("COMMIT");
  held.release();
  await sql.end();
  await later;
  const read = await reader.readAll(everything);
  expect(read.map(({ session, position }) => [session, position])).toEqual([
    [a, 1],
    [b, 2],
  ]);
});

test("an append whose answer was lost is not stored twice when it is tried again", async () => {
  const log = await host("one", { url: await throughProxy() });
  await create(log, a);
  await log.append(entry(a, 1, 2));
  const onlyNative = { ...entry(a, 6, 6), events: null, summary: entry(a, 5, 5).summary };
  const again = [entry(a, 3, 5), onlyNative];
  for (const one of again) {
    const lost = proxy.loseAnswerTo('"before":');
    await expect(log.append(one)).rejects.toMatchObject({ code: "storage_error" });
    await lost;
    await log.append(one);
  }
  await log.append(entry(a, 6, 6, { native: null }));
  expect(await log.lastNativeLine(a)).toBe(6);
  expect(spans(await log.read(a, everything))).toEqual([
    [1, 2],
    [3, 5],
    [6, 6],
  ]);
});

test("a crash of the server in the middle of a flood loses and doubles nothing", async () => {
  const log = await host("one");
  const ids = [a, b];
  for (const id of ids) await create(log, id);
  const stored = async (one: Parameters<EventLog["append"]>[0]): Promise<number> => {
    for (let failures = 0; ; failures += 1) {
      try {
        await log.append(one);
        return failures;
      } catch (error) {
        expect(error).toMatchObject({ code: "storage_error" });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  let failures = 0;
  const flood = ids.map(async (id) => {
    for (let at = 1; at <= 300; at += 1) failures += await stored(entry(id, at, at));
  });
  await until(async () => (await log.read(a, { after: 20, maxBytes: 1 })).length > 0);
  restartServer();
  await Promise.all(flood);
  expect(failures).toBeGreaterThan(0);
  const single = Array.from({ length: 300 }, (_, at) => [at + 1, at + 1]);
  for (const id of ids) expect(spans(await log.read(id, everything))).toEqual(single);
  const positions = (await log.readAll(everything)).map(({ position }) => position);
  expect(positions).toEqual(Array.from({ length: 600 }, (_, at) => at + 1));
});

test("a host that cannot renew gives up before its lease ends, and continues with a new epoch", async () => {
  const one = await host("one", { url: await throughProxy(), heartbeatMs: 200, leaseMs: 6_000 });
  await create(one, a);
  let lost = 0;
  one.onLost(async () => {
    lost += 1;
  });
  const watching = await host("two", { takeOver: true });
  proxy.open(false);
  await until(() => lost === 1);
  // By its own clock: the lease has not ended yet, and nobody may take the session.
  expect((await watching.claim(a, other, dead)).host).toMatchObject({ id: "one", alive: true });
  await expect(one.append(entry(a, 1, 1))).rejects.toMatchObject({ code: "storage_error" });
  proxy.open(true);
  await until(() =>
    one.create({ id: b, ...forCreate() }, me).then(
      () => true,
      () => false,
    ),
  );
  // What it owned before belongs to nobody who lives: it is recovered like after a restart.
  expect((await one.find(a))?.owner).toEqual({ pid: 0, started: "" });
  expect(await one.claim(a, me, dead)).toEqual(me);
  await one.append(entry(a, 1, 1));
  expect(lost).toBe(1);
});

const forCreate = () => {
  const { summary } = entry(b, 1, 1);
  return { settings: { create: { agent: "fake", directory: "/" }, forkOf: null }, summary };
};

test("after the lease another host takes over where it may, and the first one is fenced", async () => {
  const one = await host("one", { url: await throughProxy(), ...short });
  await create(one, a);
  await one.append(entry(a, 1, 2));
  const [stranger, heir] = [await host("two"), await host("three", { takeOver: true })];
  proxy.open(false);
  await until(async () => (await heir.claim(a, other, dead)).host === undefined);
  await heir.append(entry(a, 3, 3));
  expect(heir.cluster?.stats()).toMatchObject({ takeovers: 1, leasesLost: 0 });
  await expect.poll(() => one.cluster?.stats()).toMatchObject({ leasesLost: 1, leaseMs: 0 });
  proxy.open(true);
  await expect(one.append(entry(a, 3, 4))).rejects.toMatchObject({ code: /session_owned|storage_error/ });
  expect(spans(await heir.read(a, everything))).toEqual([
    [1, 2],
    [3, 3],
  ]);
  expect((await stranger.claim(a, me, dead)).host).toMatchObject({ id: "three", alive: true });
});

test("a host that may not take over leaves the sessions of a dead one alone", async () => {
  const one = await host("one", short);
  await create(one, a);
  await one.close();
  const two = await host("two");
  expect((await two.claim(a, other, dead)).host).toMatchObject({ id: "one", alive: false });
  expect(await two.owned()).toMatchObject([{ id: a, owner: { host: { alive: true } } }]);
  expect(await two.sessionsWithQueue()).toEqual([]);
});
