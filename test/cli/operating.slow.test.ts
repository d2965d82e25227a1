/** The daemon as one runs it: its access log holds no secret, and it stops as it was told, sooner when told again. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { connect } from "../../src/sdk/index.ts";
import { franca, serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { installStubbornAmp, stubbornPids } from "../support/stubborn-agent.ts";

const Line = z.looseObject({ msg: z.string() });
const Access = z.object({
  msg: z.literal("request.ended"),
  request: z.string(),
  method: z.string(),
  route: z.string(),
  session: z.string().optional(),
  status: z.number(),
  ms: z.number().min(0),
});

test("each request is one line with its route, session, status and duration; no token, code or query is in the log", async () => {
  const home = temporaryFolder();
  const started = await franca(["daemon", "start", "--port", "0", "--log-level", "info"], { home });
  onTestFinished(async () => void (await franca(["daemon", "stop"], { home })));
  const url = /listens on (\S+)/.exec(started.stdout)?.[1] ?? "";
  const data = join(home, "share", "franca");
  const token = readFileSync(join(data, "token"), "utf8").trim();
  const authorization = `Bearer ${token}`;
  const client = connect({ url, token });
  await client.create({ id: "seen/here", agent: "mock", directory: home });
  const { code } = await client.makeLoginCode();
  const login = (given: string) =>
    fetch(`${url}/v1/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: given }),
    });
  const answered = await login(code);
  const { credential } = z.object({ credential: z.string() }).parse(await answered.json());
  await login("SECRETCODE-that-is-wrong");
  for (const path of [
    `/v1/sessions?q=SECRETQUERY&token=${token}`,
    `/v1/sessions/none?code=${code}`,
    `/SECRETPATH/${token}/${credential}`,
    `/v1/SECRETROUTE`,
    `/opencode/session/ses_none?auth=SECRETQUERY`,
    `/metrics`,
  ]) {
    await fetch(`${url}${path}`, { headers: { authorization } });
  }
  await fetch(`${url}/v1/sessions`, { headers: { authorization: "Bearer SECRETGUESS" } });
  const withId = await fetch(`${url}/v1/agents`, { headers: { authorization: `Bearer ${credential}` } });
  expect((await franca(["daemon", "stop"], { home })).code).toBe(0);

  const log = readFileSync(join(data, "daemon.log"), "utf8");
  for (const secret of [token, code, credential, "SECRET"]) expect(log).not.toContain(secret);
  const lines = log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => Line.parse(JSON.parse(line)));
  const stopping = lines.filter(({ msg }) => msg.startsWith("daemon.stop"));
  expect(stopping).toMatchObject([{ msg: "daemon.stopping", signal: "SIGTERM" }, { msg: "daemon.stopped" }]);
  const seen = lines.filter(({ msg }) => msg === "request.ended").map((line) => Access.parse(line));
  const shown = seen.map(({ method, route, session = "-", status }) => `${method} ${route} ${session} ${status}`);
  for (const line of [
    "POST /v1/sessions/:id seen/here 200",
    "POST /v1/login - 200",
    "POST /v1/login - 401",
    "GET /v1/sessions - 200",
    "GET /v1/sessions/:id none 404",
    "GET /v1/sessions - 401",
    "GET /metrics - 200",
    "GET - - 404",
  ]) {
    expect(shown).toContain(line);
  }
  expect(new Set(seen.map(({ request }) => request)).size).toBe(seen.length);
  expect(seen.map(({ request }) => request)).toContain(withId.headers.get("franca-request-id"));
}, 120_000);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test("told to stop twice it ends at once; the guard ends its agents, and the next start says how the turn ended", async () => {
  const home = temporaryFolder();
  const env = installStubbornAmp(home);
  const { child, url, token } = await serve({ home, env, args: ["--port", "0"] });
  const client = connect({ url, token: token ?? "" });
  const session = await client.create({ id: "stubborn", agent: "amp", directory: home });
  await session.prompt("work");
  let pids: number[] | null = null;
  for await (const event of session.events()) {
    pids = event.type === "item.completed" ? stubbornPids(JSON.stringify(event)) : null;
    if (pids !== null) break;
  }
  expect(pids?.every(isAlive)).toBe(true);
  // Two of a kind at once would be one.
  child.kill("SIGTERM");
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([1, null]);
  await expect.poll(() => pids?.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  const again = await serve({ home, env, args: ["--port", "0"] });
  const next = connect({ url: again.url, token: again.token ?? "" }).session("stubborn");
  const ends: string[] = [];
  for await (const event of next.events()) {
    if (event.type !== "turn.ended") continue;
    ends.push(event.data.reason);
    break;
  }
  expect(ends).toHaveLength(1);
}, 120_000);

test("with --stop-wait-ms a running turn ends by itself first; a second signal does not wait for it", async () => {
  const home = temporaryFolder();
  const args = ["--port", "0", "--stop-wait-ms", "600000"];
  const first = await serve({ home, args });
  const session = await connect({ url: first.url, token: first.token ?? "" }).create({
    id: "slow",
    agent: "mock",
    directory: home,
  });
  await session.prompt("long 2");
  for await (const event of session.events()) if (event.type === "turn.started") break;
  first.child.kill("SIGTERM");
  expect(await once(first.child, "exit")).toEqual([0, null]);
  const second = await serve({ home, args });
  const resumed = connect({ url: second.url, token: second.token ?? "" }).session("slow");
  const ended = (await resumed.listEvents({ limit: 10_000 })).events.filter(({ type }) => type === "turn.ended");
  expect(ended).toMatchObject([{ data: { reason: "completed" } }]);

  await resumed.prompt("hang");
  for await (const event of resumed.events({ after: ended.at(-1)?.sequence })) if (event.type === "turn.started") break;
  second.child.kill("SIGTERM");
  second.child.kill("SIGINT");
  expect(await once(second.child, "exit")).toEqual([0, null]);
}, 120_000);
