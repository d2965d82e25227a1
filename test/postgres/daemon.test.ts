/** The daemon on Postgres, as a process of its own: it works end to end, and keeps its database's password. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { processTable } from "../../src/runtime/agent/process-table.ts";
import { connect, type Session } from "../../src/sdk/index.ts";
import { franca } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { password, restartServer } from "../support/postgres.ts";
import { databaseUrl, homeOf, killHost, startHost, TOKEN } from "../support/postgres-hosts.ts";
import { eventually, guardsOf } from "../support/processes.ts";
import { installStubbornAmp, stubbornPids } from "../support/stubborn-agent.ts";

/** Time for a busy machine. */
const TIMEOUT_MS = 120_000;
const GONE_MS = 30_000;
const lease = ["--lease-ms", "3000"];

async function history(session: Session): Promise<readonly UniversalEvent[]> {
  const all: UniversalEvent[] = [];
  for (let more = true; more; ) {
    const { events, hasMore } = await session.listEvents({ offset: all.length, limit: 1_000 });
    all.push(...events);
    more = hasMore;
  }
  expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index + 1));
  return all;
}

const endsOf = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => (event.type === "turn.ended" ? [`${event.data.reason} ${event.data.evidence}`] : []));

test(
  "without a token, without an address and with a password in the command line it does not start",
  async () => {
    const home = homeOf("one");
    const url = await databaseUrl(temporaryFolder());
    const env = { FRANCA_DATABASE_URL: url };
    const token = ["--token-file", join(home, "token")];
    const serve = ["serve", "--store", "postgres", "--port", "0"];
    const file = join(home, "database-url");
    writeFileSync(file, "not an address, and secret-in-it");
    const refused: readonly (readonly [readonly string[], Record<string, string>, RegExp])[] = [
      [serve, env, /share one token/],
      [[...serve, "--no-token"], env, /share one token/],
      [[...serve, ...token], {}, /needs the URL of its database/],
      [[...serve, ...token, "--database-url", url], {}, /password in the command line/],
      [[...serve, ...token, `--database-url=${url}`], env, /password in the command line/],
      [[...serve, ...token, "--database-url-file", file], {}, /written like postgres:/],
      [
        [...serve, ...token],
        { FRANCA_DATABASE_URL: `${url}&secret-in-it`.replace("postgres:", "http:") },
        /written like/,
      ],
      [[...serve, ...token, "--host-url", "https://me:secret-in-it@one.example"], env, /without a password/],
      [[...serve, ...token, "--host-url", "ftp://one.example"], env, /like https:/],
      [["run", "--agent", "mock", "--", "echo hi"], { ...env, FRANCA_STORE: "postgres" }, /needs a daemon/],
    ];
    for (const [args, more, reason] of refused) {
      const { code, stdout, stderr } = await franca(args, { home, env: more });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(reason);
      expect(stdout + stderr).not.toContain(password());
      expect(stdout + stderr).not.toContain("secret-in-it");
    }
    const { stdout } = await franca(["config", "--json"], { home, env });
    expect(stdout).toContain('"databaseUrl": "(hidden)"');
  },
  TIMEOUT_MS,
);

test(
  "a host with another token does not join",
  async () => {
    const url = await databaseUrl(temporaryFolder());
    await startHost(url, { home: homeOf("one") });
    const home = homeOf("two");
    writeFileSync(join(home, "token"), "another token");
    await expect(startHost(url, { home })).rejects.toThrow(/have another token/);
  },
  TIMEOUT_MS,
);

test(
  "turns, streams, OpenCode's API and restarts work, and the password is in no answer and no log",
  async () => {
    const home = homeOf("one");
    const url = await databaseUrl(temporaryFolder());
    let host = await startHost(url, { home });
    const { port } = new URL(host.url);
    const session = await host.client.create({ id: "s", agent: "mock", directory: home });
    await session.run("echo hello");
    // What a person writes is stored as it is; what an agent finds out and prints is not.
    const curious = await host.client.create({ agent: "mock", directory: home });
    expect((await curious.run(`echo found ${password()}`)).text).toContain("found [redacted]");
    await curious.delete();
    for await (const { type } of session.ask("long 1000")) if (type === "item.delta") break;
    await killHost(host);
    const first = host.output();
    host = await startHost(url, { home, port });
    const again = connect({ url: host.url, token: TOKEN }).session("s");
    expect(endsOf(await history(again))).toEqual(["completed signal", "interrupted restart"]);
    expect((await again.run("echo after")).text).toContain("after");
    const { opencodeId = "" } = await again.get();
    const answers = await Promise.all(
      [
        "/v1/health",
        "/v1/sessions",
        "/v1/sessions/s",
        "/v1/sessions/s/events?includeRaw=true",
        "/v1/sessions/s/native",
        "/v1/agents",
        "/metrics",
        "/opencode/config",
        `/opencode/session/${opencodeId}/message`,
      ].map(async (path) => {
        const response = await fetch(host.url + path, { headers: { authorization: `Bearer ${TOKEN}` } });
        expect([path, response.status]).toEqual([path, 200]);
        return response.text();
      }),
    );
    expect(answers.at(-1)).toContain("after");
    for (const shown of [...answers, first, host.output()]) expect(shown).not.toContain(password());
    const gone = once(host.child, "exit");
    host.child.kill("SIGTERM");
    expect(await gone).toEqual([0, null]);
  },
  TIMEOUT_MS,
);

test(
  "Postgres crashes in the middle of a flood: the turn ends by itself and nothing is missing or twice",
  async () => {
    const home = homeOf("one");
    const host = await startHost(await databaseUrl(temporaryFolder()), { home });
    const session = await host.client.create({ id: "s", agent: "mock", directory: home });
    let deltas = 0;
    let ended = "";
    for await (const event of session.ask("flood 20000")) {
      if (event.type === "turn.ended") ended = event.data.reason;
      if (event.type !== "item.delta") continue;
      deltas += 1;
      if (deltas === 2_000) restartServer();
    }
    expect([ended, deltas]).toEqual(["completed", 20_000]);
    expect(endsOf(await history(session))).toEqual(["completed signal"]);
  },
  TIMEOUT_MS,
);

test(
  "another host reads, streams and prompts a session, and takes over after its owner's death",
  async () => {
    const url = await databaseUrl(temporaryFolder());
    const [one, two] = [
      await startHost(url, { home: homeOf("one"), args: lease }),
      await startHost(url, { home: homeOf("two"), args: [...lease, "--take-over"] }),
    ];
    const session = await one.client.create({ id: "s", agent: "mock", directory: one.home });
    const there = two.client.session("s");
    const streamed: UniversalEvent[] = [];
    const reading = (async () => {
      for await (const event of there.events()) {
        streamed.push(event);
        if (event.type === "turn.ended" && event.data.evidence === "restart") return;
      }
    })();
    await session.run("echo hello");
    const asked = ["hosts", "--server", two.url, "--token-file", join(two.home, "token"), "--json"];
    const { hosts } = JSON.parse((await franca(asked, { home: two.home })).stdout);
    expect(hosts).toMatchObject([
      { id: "one", alive: true, self: false, openSessions: 1, homeOf: 1 },
      { id: "two", alive: true, self: true, openSessions: 0, homeOf: 0 },
    ]);
    expect(await history(there)).toEqual(await history(session));
    expect((await there.run("echo from elsewhere")).text).toContain("from elsewhere");
    await session.prompt("hang");
    // A prompt that had not begun would run on the other host.
    const begun = (): number => streamed.filter(({ type }) => type === "turn.started").length;
    await eventually(() => begun() === 3, { withinMs: GONE_MS });
    await killHost(one);
    await reading;
    expect(endsOf(await history(there))).toEqual(["completed signal", "completed signal", "interrupted restart"]);
    expect(streamed.map(({ sequence }) => sequence)).toEqual(streamed.map((_, index) => index + 1));
    expect((await there.run("echo taken over")).text).toContain("taken over");
  },
  TIMEOUT_MS,
);

test(
  "a stopped host's agents end with its lease, and when it wakes it is fenced",
  async () => {
    const url = await databaseUrl(temporaryFolder());
    const home = homeOf("one");
    const one = await startHost(url, { home, args: lease, env: installStubbornAmp(home) });
    const two = await startHost(url, { home: homeOf("two"), args: [...lease, "--take-over"] });
    const session = await one.client.create({ id: "s", agent: "amp", directory: home });
    let pids: readonly number[] = [];
    for await (const event of session.ask("work")) {
      pids = stubbornPids(JSON.stringify(event)) ?? [];
      if (pids.length > 0) break;
    }
    const isAlive = (pid: number): boolean => processTable.startOf(pid) !== null;
    expect(pids.filter(isAlive)).toEqual(pids);
    expect(guardsOf(one.child.pid)).toHaveLength(1);
    one.child.kill("SIGSTOP");
    await eventually(() => !pids.some(isAlive), { withinMs: GONE_MS });
    const there = two.client.session("s");
    for await (const event of there.events()) if (event.type === "turn.ended") break;
    one.child.kill("SIGCONT");
    await eventually(() => one.output().includes("lease.lost"), { withinMs: GONE_MS });
    expect(endsOf(await history(there))).toEqual(["interrupted restart"]);
    const response = await fetch(`${one.url}/v1/hosts`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const hosts = [
      { id: "one", homeOf: 0 },
      { id: "two", homeOf: 1 },
    ];
    expect(await response.json()).toMatchObject({ hosts });
  },
  TIMEOUT_MS,
);
