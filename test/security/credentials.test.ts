/** What the holder of a credential may do, and what it may not: by route, by folder, by setting, and for how long. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionId } from "../../src/protocol/ids.ts";
import type { CreateToken } from "../../src/protocol/tokens.ts";
import { routes } from "../../src/server/api/index.ts";
import { limitSessions } from "../../src/server/credentials/limited-sessions.ts";
import { openCodeRoutes } from "../../src/server/opencode/index.ts";
import { passed } from "../../src/server/opencode/pass-through-operations.ts";
import { clientOf, type Guarded, programOf, startGuarded, TOKEN } from "../support/credentials.ts";
import { franca, serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

interface Place {
  readonly daemon: Guarded;
  /** The folder of the credential, and one beside it. */
  readonly mine: string;
  readonly other: string;
}

/** Two folders with a session each: `mine-1` and `other-1`. */
async function startPlace(): Promise<Place> {
  const daemon = await startGuarded();
  const [mine, other] = [join(daemon.directory, "mine"), join(daemon.directory, "other")];
  for (const [id, directory] of Object.entries({ "mine-1": mine, "other-1": other })) {
    mkdirSync(directory);
    await daemon.send(TOKEN, `POST /v1/sessions/${id}`, { agent: "mock", directory, title: `title of ${id}` });
  }
  return { daemon, mine, other };
}

const v1 = routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
const opencode = [...openCodeRoutes.map(({ method, path }) => `${method} ${path}`), ...Object.keys(passed)].map(
  (operation) => operation.replace(" ", " /opencode"),
);
/** `next` answers nothing until its client leaves. */
const everyOperation = [...new Set([...v1, ...opencode])].filter((one) => !one.endsWith("/tui/control/next"));
const open = new Set(["GET /v1/health", "POST /v1/login"]);

/** Which operations a credential is not refused for what it is. Those that reach their handler may fail there. */
async function admittedTo({ daemon }: Place, secret: string): Promise<string[]> {
  const admitted: string[] = [];
  for (const operation of everyOperation) {
    if (open.has(operation)) continue;
    // A session that does not exist, so that nothing is changed by those that are let in.
    const { code } = await daemon.send(secret, operation.replaceAll(/\{\w+\}/g, "ses_none").replace("*", "x"));
    if (code !== "person_only") admitted.push(operation);
  }
  return admitted;
}

const OWNERS =
  /\/(trust|webhooks|tokens|login|hosts|discover|adopt|keys|install|config|auth|oauth|mcp|integration|credential|worktree|project|console)\b/;
const READS = /^GET /;

test("the owner alone changes trust, webhooks, credentials, provider keys and configuration, on every surface", async () => {
  const place = await startPlace();
  const { daemon, mine } = place;
  const secrets = {
    page: await daemon.logIn(),
    program: (await daemon.issue(programOf(mine))).secret,
    client: (await daemon.issue(clientOf(mine))).secret,
  };
  for (const [kind, secret] of Object.entries(secrets)) {
    const changing = (await admittedTo(place, secret)).filter((operation) => !READS.test(operation));
    expect([
      kind,
      changing.filter((operation) => OWNERS.test(operation) && operation !== "DELETE /v1/worktrees/{id}"),
      // A page logs in a second tab, with the rights that it has itself.
    ]).toEqual([kind, kind === "page" ? ["POST /v1/login/codes"] : []]);
    expect(changing.length).toBeGreaterThan(10);
  }
  const ofOwner = await admittedTo(place, TOKEN);
  expect(everyOperation.filter((operation) => !open.has(operation) && !ofOwner.includes(operation))).toEqual([]);
}, 60_000);

test("a credential is for one surface, and a delegation for the MCP endpoint alone", async () => {
  const place = await startPlace();
  const { daemon, mine } = place;
  const { secret: delegation } = daemon.credentials.issue({
    kind: "delegation",
    surface: "mcp",
    folders: [],
    sessions: ["mine-1"],
    actions: ["read", "create", "prompt", "abort"],
    expiresAt: null,
    process: null,
  });
  expect(await admittedTo(place, delegation)).toEqual(["POST /v1/mcp"]);
  const page = await admittedTo(place, await daemon.logIn());
  expect(page.filter((operation) => operation.includes(" /opencode") || operation.includes("/mcp"))).toEqual([]);
  const client = await admittedTo(place, (await daemon.issue(clientOf(mine))).secret);
  expect(client.filter((operation) => !operation.includes(" /opencode"))).toEqual([]);
}, 60_000);

test("a credential allows the actions that it names and no other", async () => {
  const { daemon, mine } = await startPlace();
  const reader = (await daemon.issue({ ...programOf(mine), actions: ["read"] })).secret;
  expect((await daemon.send(reader, "GET /v1/sessions/mine-1")).status).toBe(200);
  const refused = {
    "POST /v1/sessions/new": { agent: "mock", directory: mine },
    "POST /v1/sessions/mine-1/messages": { message: "echo hi" },
    "POST /v1/sessions/mine-1/abort": {},
    "PATCH /v1/sessions/mine-1": { title: "x" },
    "DELETE /v1/sessions/mine-1": undefined,
  };
  for (const [operation, body] of Object.entries(refused)) {
    const { status, code } = await daemon.send(reader, operation, body);
    expect([operation, status, code]).toEqual([operation, 403, "person_only"]);
  }
  const client = (await daemon.issue({ ...clientOf(mine), actions: ["read"] })).secret;
  expect((await daemon.send(client, "POST /opencode/session", {})).code).toBe("person_only");
});

test("sessions of other folders are in no list, search or total, and naming one is 404", async () => {
  const { daemon, mine, other } = await startPlace();
  const { secret } = await daemon.issue(programOf(mine));
  for (const path of ["/v1/sessions", "/v1/sessions?q=title", `/v1/sessions?directory=${encodeURIComponent(other)}`]) {
    expect((await daemon.send(secret, `GET ${path}`)).text).not.toContain("other-1");
  }
  expect((await daemon.send(secret, "GET /v1/sessions?limit=1")).text).toContain("mine-1");
  for (const path of ["", "/events", "/events/sse", "/native", "/diff"]) {
    const { status } = await daemon.send(secret, `GET /v1/sessions/other-1${path}`);
    expect([path, status]).toEqual([path, 404]);
  }
  const prompt = await daemon.send(secret, "POST /v1/sessions/other-1/messages", { message: "echo hi" });
  expect([prompt.status, prompt.text]).toEqual([404, (await daemon.send(secret, "GET /v1/sessions/other-1")).text]);
  for (const path of ["/metrics", "/v1/usage?by=folder"]) {
    expect((await daemon.send(secret, `GET ${path}`)).code).toBe("person_only");
  }
  expect(JSON.parse((await daemon.send(secret, "GET /v1/trust")).text).folders).toEqual([]);
});

test("on the OpenCode surface too, whichever way the folder or the session is named", async () => {
  const { daemon, mine, other } = await startPlace();
  const { secret } = await daemon.issue(clientOf(mine));
  const made = await daemon.send(TOKEN, `POST /opencode/session?directory=${encodeURIComponent(other)}`, {});
  const { id }: { id: string } = JSON.parse(made.text);
  const listed = await daemon.send(secret, "GET /opencode/session?scope=global");
  expect([listed.status, listed.text]).toEqual([200, expect.not.stringContaining(id)]);
  for (const path of ["", "/message", "/todo", "/children"]) {
    expect((await daemon.send(secret, `GET /opencode/session/${id}${path}`)).status).toBe(404);
  }
  const parts = [{ type: "text", text: "echo hi" }];
  expect((await daemon.send(secret, `POST /opencode/session/${id}/message`, { parts })).status).toBe(404);
  expect((await daemon.send(secret, "GET /opencode/project")).text).not.toContain(other);
  writeFileSync(join(other, "secret.txt"), "hidden");
  const elsewhere = encodeURIComponent(other);
  for (const path of [
    "file?path=.",
    "file/content?path=secret.txt",
    "vcs?x=1",
    "path?x=1",
    "session?x=1",
    "event?x=1",
  ]) {
    expect((await daemon.send(secret, `GET /opencode/${path}&directory=${elsewhere}`)).code).toBe("person_only");
  }
  expect((await daemon.send(secret, `POST /opencode/session?directory=${elsewhere}`, {})).code).toBe("person_only");
  const link = join(mine, "link");
  symlinkSync(other, link);
  const linked = await daemon.send(secret, `GET /opencode/file?path=.&directory=${encodeURIComponent(link)}`);
  expect(linked.code).toBe("person_only");
});

/** What a stream sends until an event of the session `last` is in it. */
async function readUntil({
  daemon,
  secret,
  path,
  last,
}: {
  daemon: Guarded;
  secret: string;
  path: string;
  last: string;
}) {
  const left = new AbortController();
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${daemon.url}${path}`, { headers, signal: left.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const read = (async () => {
    let text = "";
    while (!text.includes(last)) text += (await reader?.read())?.value ?? "";
    left.abort();
    return text;
  })();
  return { read };
}

test.each([
  ["/v1/events/sse", "v1"],
  ["/opencode/global/event", "opencode"],
  ["/opencode/event", "opencode"],
  ["/opencode/api/event", "opencode"],
] as const)("%s sends nothing of other folders", async (path, surface) => {
  const { daemon, mine, other } = await startPlace();
  const { secret } = await daemon.issue({ ...programOf(mine), surface });
  const { read } = await readUntil({ daemon, secret, path, last: "mine-marker" });
  for (const [id, directory] of Object.entries({ "other-2": other, "mine-2": mine })) {
    const marker = id.replace("-2", "-marker");
    await daemon.send(TOKEN, `POST /v1/sessions/${id}`, { agent: "mock", directory });
    await daemon.send(TOKEN, `POST /v1/sessions/${id}/messages/stream`, { message: `echo ${marker}` });
    await daemon.client.session(id).prompt(`echo ${marker}`);
  }
  expect(await read).not.toMatch(/other-(1|2|marker)/);
});

test("a session is created only in the folder of the credential, links resolved", async () => {
  const { daemon, mine, other } = await startPlace();
  const { secret } = await daemon.issue(programOf(mine));
  symlinkSync(other, join(mine, "link"));
  for (const directory of [other, `${mine}/../other`, join(mine, "link"), "/"]) {
    const { code } = await daemon.send(secret, "POST /v1/sessions/new", { agent: "mock", directory });
    expect([directory, code]).toEqual([directory, "person_only"]);
  }
  mkdirSync(join(mine, "inside"));
  for (const directory of [mine, join(mine, "inside"), undefined]) {
    const { status, text } = await daemon.send(secret, "POST /v1/sessions", { agent: "mock", directory });
    expect([directory, status]).toEqual([directory, 201]);
    const { sessionId }: { sessionId: string } = JSON.parse(text);
    const shown = JSON.parse((await daemon.send(TOKEN, `GET /v1/sessions/${sessionId}`)).text);
    expect(shown.directory).toBe(directory ?? mine);
  }
});

const widening: readonly object[] = [
  { permissionMode: "bypass" },
  { permissionMode: "acceptEdits" },
  { permissionRules: [{ permission: "bash", pattern: "*", action: "allow" }] },
  { permissionRules: [{ permission: "bash", pattern: "*", action: "ask" }] },
  { budget: { session: { steps: 1000 } } },
];

test("no setting loosens what an agent may do: modes, rules, policies, variables, MCP servers", async () => {
  const { daemon, mine } = await startPlace();
  const { secret } = await daemon.issue(programOf(mine));
  const atCreation: readonly object[] = [
    ...widening,
    { unattended: { policy: "allow" } },
    { env: { PATH: "/tmp" } },
    { mcp: { evil: { command: "sh" } } },
    { delegate: true },
    { finishTodos: true },
    { nativeSessionId: "x" },
    { worktree: true },
  ];
  for (const settings of atCreation) {
    const body = { agent: "mock", directory: mine, ...settings };
    const { code } = await daemon.send(secret, "POST /v1/sessions/new", body);
    expect([settings, code]).toEqual([settings, "person_only"]);
  }
  for (const settings of widening) {
    const { code } = await daemon.send(secret, "PATCH /v1/sessions/mine-1", settings);
    expect([settings, code]).toEqual([settings, "person_only"]);
  }
  const deny = { permission: "bash", pattern: "rm *", action: "deny" };
  for (const settings of [{ title: "x" }, { permissionMode: "plan" }, { permissionRules: [deny] }]) {
    const { status } = await daemon.send(secret, "PATCH /v1/sessions/mine-1", settings);
    expect([settings, status]).toEqual([settings, 204]);
  }
  // Rules of the owner's stay: taking one away, or one after it that says otherwise, would loosen it.
  for (const permissionRules of [[], [deny, { ...deny, action: "allow" }]]) {
    expect((await daemon.send(secret, "PATCH /v1/sessions/mine-1", { permissionRules })).code).toBe("person_only");
  }
});

test("on the OpenCode surface too: rules, and tools that are turned on", async () => {
  const { daemon, mine } = await startPlace();
  const { secret } = await daemon.issue(clientOf(mine));
  const allow = [{ permission: "bash", pattern: "*", action: "allow" }];
  const { id }: { id: string } = JSON.parse((await daemon.send(secret, "POST /opencode/session", {})).text);
  const parts = [{ type: "text", text: "echo hi" }];
  const attempts = {
    "POST /opencode/session": { permission: allow },
    [`PATCH /opencode/session/${id}`]: { permission: allow },
  };
  for (const [operation, body] of Object.entries(attempts)) {
    const { status, text } = await daemon.send(secret, operation, body);
    expect([operation, status, text]).toEqual([operation, 403, expect.stringContaining("owner")]);
  }
  expect((await daemon.send(secret, `POST /opencode/session/${id}/message`, { parts })).status).toBe(200);
  const found = daemon.credentials.find(secret);
  if (found === null) throw new Error("The credential is not known.");
  const limited = limitSessions(daemon.sessions, { credential: found.credential, attachments: daemon.directory });
  const prompt = { text: "hi", extras: { tools: { bash: true } } };
  await expect(limited.prompt(sessionId("mine-1"), prompt)).rejects.toThrow(/Turning a tool on/);
});

test("a page that the owner logged in may raise the permission mode, but sets no rules", async () => {
  const { daemon, mine } = await startPlace();
  const page = await daemon.logIn();
  expect((await daemon.send(page, "PATCH /v1/sessions/other-1", { permissionMode: "bypass" })).status).toBe(204);
  const rules = { permissionRules: [{ permission: "bash", pattern: "*", action: "allow" }] };
  expect((await daemon.send(page, "PATCH /v1/sessions/mine-1", rules)).code).toBe("person_only");
  const body = { agent: "mock", directory: mine, permissionMode: "bypass" };
  expect((await daemon.send(page, "POST /v1/sessions/raised", body)).status).toBe(200);
});

test("a file outside the folder cannot be attached to a prompt", async () => {
  const { daemon, mine, other } = await startPlace();
  const { secret } = await daemon.issue(programOf(mine));
  for (const folder of [mine, other]) writeFileSync(join(folder, "a.txt"), "text");
  symlinkSync(join(other, "a.txt"), join(mine, "link.txt"));
  const attach = (path: string) =>
    daemon.send(secret, "POST /v1/sessions/mine-1/messages", { message: "hi", attachments: [{ path }] });
  expect((await attach(join(mine, "a.txt"))).status).toBe(204);
  expect((await attach(join(other, "a.txt"))).code).toBe("person_only");
  expect((await attach(join(mine, "link.txt"))).code).toBe("person_only");
  const data = { data: Buffer.from("x").toString("base64"), mime: "text/plain" };
  const sent = await daemon.send(secret, "POST /v1/sessions/mine-1/messages", { message: "hi", attachments: [data] });
  expect(sent.status).toBe(204);
});

test("the list shows no secret; a revoked credential is refused at once, and its streams end", async () => {
  const { daemon, mine } = await startPlace();
  const { secret, id } = await daemon.issue(programOf(mine));
  const stream = await fetch(`${daemon.url}/v1/events/sse`, { headers: { authorization: `Bearer ${secret}` } });
  const listed = await daemon.send(TOKEN, "GET /v1/tokens");
  expect(JSON.parse(listed.text).tokens).toMatchObject([{ id, kind: "token", surface: "v1", folders: [mine] }]);
  expect(listed.text).not.toContain(secret);
  expect((await daemon.send(TOKEN, `DELETE /v1/tokens/${id}`)).status).toBe(204);
  await stream.text().catch(() => "cut");
  expect((await daemon.send(secret, "GET /v1/sessions")).status).toBe(401);
  expect((await daemon.send(TOKEN, `DELETE /v1/tokens/${id}`)).status).toBe(404);
});

test("a credential that is bound to a process ends with it", async () => {
  const { daemon, mine } = await startPlace();
  const child = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
  await once(child, "spawn");
  const grant: CreateToken = { ...clientOf(mine), ...(child.pid === undefined ? {} : { pid: child.pid }) };
  const { secret } = await daemon.issue(grant);
  expect((await daemon.send(secret, "GET /opencode/session")).status).toBe(200);
  const exited = once(child, "exit");
  child.stdin.end();
  await exited;
  expect((await daemon.send(secret, "GET /opencode/session")).status).toBe(401);
  expect(JSON.parse((await daemon.send(TOKEN, "GET /v1/tokens")).text).tokens).toEqual([]);
});

test("credentials end when their time is over, survive a restart until then, and only hashes are stored", async () => {
  const data = join(temporaryFolder(), "data");
  const folder = temporaryFolder();
  const first = await startGuarded({ data, store: "sqlite" });
  const short = await first.issue({ ...programOf(folder), ttlMs: 1 });
  const long = await first.issue(programOf(folder));
  expect((await first.send(short.secret, "GET /v1/sessions")).status).toBe(401);
  await first.close();
  expect(readFileSync(join(data, "credentials.json"), "utf8")).not.toContain(long.secret);
  const second = await startGuarded({ data, store: "sqlite" });
  expect((await second.send(long.secret, "GET /v1/sessions")).status).toBe(200);
  expect((await second.send(short.secret, "GET /v1/sessions")).status).toBe(401);
});

test("franca token lists credentials and revokes one by the beginning of its id", async () => {
  const home = temporaryFolder();
  const { url, token } = await serve({ home, args: ["--port", "0"] });
  const headers = { authorization: `Bearer ${token}` };
  const made = await fetch(`${url}/v1/tokens`, { method: "POST", headers, body: JSON.stringify(programOf(home)) });
  const { id, secret }: { id: string; secret: string } = JSON.parse(await made.text());
  const listed = await franca(["token", "list"], { home });
  expect(listed.stdout).toMatch(new RegExp(`${id.slice(0, 12)} +token +v1 +${home}`));
  expect(listed.stdout).not.toContain(secret);
  const revoked = await franca(["token", "revoke", id.slice(0, 8)], { home });
  expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining("Revoked")]);
  const again = await franca(["token", "revoke", id.slice(0, 8)], { home });
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("franca token list")]);
});
