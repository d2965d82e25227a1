/** Attacks on calls between hosts: by forged, stolen and repeated signatures, by false hosts, by loops. */
import { expect, test } from "vitest";
import { authorizationOf, hostKeyOf, type SignedCall } from "../../src/server/http/host-key.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { ask, at, type Heard, openStranger, openTwoHosts, passOn, signed, token } from "../support/host-calls.ts";
import { raw } from "../support/opencode-beside.ts";
import { TOKEN } from "../support/postgres-hosts.ts";

const TIMEOUT_MS = 120_000;
const key = hostKeyOf(TOKEN);

type Sent = Pick<Heard, "method" | "path" | "body">;

const get = (path: string): Sent => ({ method: "GET", path, body: "" });

/** What makes a call one for this host. */
function callTo({ sessions: { host } }: Pick<TestDaemon, "sessions">): Pick<SignedCall, "to" | "epoch"> {
  if (host === null) throw new Error("It shares its log with others.");
  return { to: host.self, epoch: host.epoch() };
}

/** Sends a request with a signature, made with the right key unless it is given another one. */
async function send(
  url: string,
  request: Sent,
  { by = key, call, headers = {} }: { by?: Buffer; call: Partial<SignedCall>; headers?: Record<string, string> },
) {
  const authorization = authorizationOf(by, signed(request, call));
  const { status, body, headers: answered } = await ask(url, { ...request, headers: { ...headers, authorization } });
  return { status, body, isProven: answered["franca-host-answer"] !== undefined };
}

test("only a call that is signed for this host, its life, this request and now", { timeout: TIMEOUT_MS }, async () => {
  const { one, ids, directory } = await openTwoHosts();
  const request = get(at("/find/file?query=a", directory));
  const call = callTo(one);
  const taken = (options: Partial<Parameters<typeof send>[2]> = {}) => send(one.url, request, { call, ...options });
  expect(await taken()).toMatchObject({ status: 200, isProven: true });
  const attacks: Readonly<Record<string, ReturnType<typeof send>>> = {
    "a forged key": taken({ by: Buffer.alloc(32) }),
    "another token's key": taken({ by: hostKeyOf(`${TOKEN}x`) }),
    "the token as key": taken({ by: Buffer.from(TOKEN) }),
    "another host": taken({ call: { ...call, to: ids.two } }),
    "an earlier life": taken({ call: { ...call, epoch: call.epoch - 1 } }),
    "a later life": taken({ call: { ...call, epoch: call.epoch + 1 } }),
    "an hour ago": taken({ call: { ...call, time: Date.now() - 3_600_000 } }),
    "an hour ahead": taken({ call: { ...call, time: Date.now() + 3_600_000 } }),
    "another path": taken({ call: { ...signed(get(at("/find/file?query=b", directory)), call) } }),
    "another method": taken({ call: { ...signed({ ...request, method: "POST" }, call) } }),
    "another body": taken({ call: { ...call, bytes: 5 } }),
    "a foreign origin": taken({ headers: { origin: "https://evil.example" } }),
    "its own origin": taken({ headers: { origin: one.url } }),
    "a foreign host": taken({ headers: { host: "evil.example" } }),
  };
  for (const [name, attack] of Object.entries(attacks)) {
    const { status, isProven } = await attack;
    expect([name, [401, 403].includes(status), isProven]).toEqual([name, true, false]);
  }
  for (const authorization of [
    `Bearer ${key.toString("hex")}`,
    `Bearer ${key.toString("base64url")}`,
    "franca-host ",
    "franca-host e30.",
    "franca-host .",
    `franca-host ${Buffer.from(JSON.stringify(signed(request, call))).toString("base64url")}`,
  ]) {
    expect((await ask(one.url, { ...request, headers: { authorization } })).status).toBe(401);
  }
});

test("a host key opens nothing but files, searches, git and terminals", { timeout: TIMEOUT_MS }, async () => {
  const { one, directory } = await openTwoHosts();
  const call = callTo(one);
  const json = { "content-type": "application/json" };
  const requests: readonly Sent[] = [
    ...["/v1/sessions", "/v1/sessions/s", "/v1/hosts", "/v1/trust", "/v1/events", "/metrics", "/v1/webhooks"].map(get),
    ...["/session", "/config", "/event", "/mcp", "/provider", "/project", "/path", "/api/session"].map((path) =>
      get(at(path, directory)),
    ),
    { method: "POST", path: "/v1/sessions", body: JSON.stringify({ agent: "mock", directory }) },
    { method: "POST", path: "/v1/sessions/s/messages", body: '{"message":"echo"}' },
    { method: "DELETE", path: "/v1/sessions/s", body: "" },
    { method: "POST", path: at("/session", directory), body: "{}" },
    { method: "PATCH", path: at("/config", directory), body: "{}" },
    { method: "POST", path: at("/project/git/init", directory), body: "{}" },
    // Not at the root, nor by a way around.
    get(`/find/file?query=a&directory=${encodeURIComponent(directory)}`),
    get(at("/find/../session", directory)),
    { method: "HEAD", path: at("/vcs", directory), body: "" },
  ];
  for (const request of requests) {
    const { status, isProven } = await send(one.url, request, { call, headers: json });
    expect([request.path, status, isProven]).toEqual([request.path, 401, false]);
  }
  expect(await one.client.sessions()).toHaveLength(2);
  const upgrade = (path: string): string[] => [
    ...[`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"],
    ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"],
    `Authorization: ${authorizationOf(Buffer.alloc(32), signed(get(path), call))}`,
  ];
  expect(await raw(one.url, upgrade(at("/pty/pty_1/connect", directory)))).toMatch(/^HTTP\/1\.1 401 /);
});

test("a file of a prompt is kept for a host alone, and for a session of this host", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { one } = await openTwoHosts();
  const call = callTo(one);
  const keep = (session: string): Sent => ({
    ...{ method: "POST", path: `/hosts/attachments/${session}?mime=text%2Fplain`, body: "hello" },
  });
  const kept = await send(one.url, keep("s"), { call });
  expect(kept).toMatchObject({ status: 200, body: expect.stringMatching(/attachments\/[^/]+\/[0-9a-f]{16}\.txt"/) });
  expect((await ask(one.url, { ...keep("s"), headers: token })).status).toBe(404);
  expect((await ask(one.url, { ...keep("s"), headers: {} })).status).toBe(401);
  expect((await send(one.url, keep("s"), { call, by: Buffer.alloc(32) })).status).toBe(401);
  const changed = await send(one.url, { ...keep("s"), body: "other" }, { call: signed(keep("s"), call) });
  expect(changed.status).toBe(401);
  expect((await send(one.url, keep("nobody"), { call })).status).toBe(404);
  expect((await send(one.url, keep("..%2F..%2Fescape"), { call })).status).toBe(404);
  // The other host's session.
  expect((await send(one.url, keep("elsewhere"), { call })).status).toBe(503);
});

test("which rules hold in a folder is said to hosts alone", { timeout: TIMEOUT_MS }, async () => {
  const { one, two, directory } = await openTwoHosts();
  const body = JSON.stringify({ agent: "mock", directory });
  const request = { method: "POST", path: "/opencode/hosts/permission-rules", body };
  expect(await send(one.url, request, { call: callTo(one) })).toMatchObject({ status: 200, body: "{}" });
  expect((await ask(one.url, { ...request, headers: token })).status).toBe(404);
  expect((await ask(one.url, { ...request, headers: {} })).status).toBe(401);
  expect((await send(one.url, request, { call: callTo(one), by: Buffer.alloc(32) })).status).toBe(401);
  expect((await send(one.url, { ...request, body: "{}" }, { call: callTo(one) })).status).toBe(400);
  expect((await send(two.url, request, { call: callTo(two) })).status).toBe(503);
});

test("what a false host hears is of no use to it", { timeout: TIMEOUT_MS }, async () => {
  const stranger = await openStranger();
  const { one, two, directory } = await openTwoHosts({ hostUrl: stranger.url });
  stranger.act = (heard, outgoing) => passOn(one.url, heard, outgoing);
  const headers = {
    ...token,
    "content-type": "application/json",
    cookie: "franca=secret",
    "x-forwarded-for": "1.2.3.4",
  };
  const path = at("/vcs/apply?auth_token=secret", directory);
  const first = await ask(two.url, { method: "POST", path, headers, body: '{"patch":"one"}' });
  // OpenCode is not there: its host's own answer comes back.
  expect(first).toMatchObject({ status: 501 });
  expect((await ask(two.url, { path: at("/vcs", directory) })).status).toBe(200);
  const [posted, got] = stranger.heard;
  if (posted === undefined || got === undefined) throw new Error("The stranger has heard two calls.");
  expect(posted.body).toBe('{"patch":"one"}');
  for (const { headers: heard, path: target } of [posted, got]) {
    const text = JSON.stringify([heard, target]);
    for (const secret of [TOKEN, "secret", "1.2.3.4", key.toString("hex"), key.toString("base64url")]) {
      expect(text).not.toContain(secret);
    }
    expect(heard.authorization).toMatch(/^franca-host /);
    expect(Object.keys(heard).sort()).toEqual(
      expect.arrayContaining(["authorization", "connection", "content-length", "host"]),
    );
  }
  // Repeated to the host that it was for, changed, and to the host that made it.
  for (const heard of [posted, got]) {
    expect((await ask(one.url, heard)).status).toBe(401);
    expect((await ask(two.url, heard)).status).toBe(401);
  }
  stranger.act = (heard, outgoing) => passOn(one.url, { ...heard, body: '{"patch":"two"}' }, outgoing);
  const changed = await ask(two.url, { method: "POST", path, headers, body: '{"patch":"one"}' });
  expect(changed.status).toBe(401);
  expect(changed.body).toContain("not the body that was signed");
});

test("what a false host answers is not passed on", { timeout: TIMEOUT_MS }, async () => {
  const [stranger, lured] = [await openStranger(), await openStranger()];
  const { one, two, ids, directory } = await openTwoHosts({ hostUrl: stranger.url });
  const seen: string[] = [];
  const answers: readonly (typeof stranger.act)[] = [
    (_heard, outgoing) => outgoing.writeHead(200, { "content-type": "application/json" }).end('["false"]'),
    (_heard, outgoing) => outgoing.writeHead(200, { "franca-host-answer": "false" }).end('["false"]'),
    (_heard, outgoing) => outgoing.writeHead(200, { "franca-host-answer": seen[0] ?? "" }).end('["false"]'),
    (_heard, outgoing) => outgoing.writeHead(307, { location: `${lured.url}/` }).end(),
    (_heard, outgoing) => outgoing.writeHead(401).end(),
    (_heard, outgoing) => outgoing.destroy(),
  ];
  stranger.act = async (heard, outgoing) => {
    const { headers } = await ask(one.url, heard);
    seen.push(String(headers["franca-host-answer"]));
    outgoing.writeHead(503).end();
  };
  await ask(two.url, { path: at("/vcs", directory) });
  expect(seen[0]).toMatch(/^[\w-]{43}$/);
  for (const act of answers) {
    stranger.act = act;
    const { status, body } = await ask(two.url, { path: at("/find/file?query=a", directory) });
    expect([status, body]).toEqual([503, expect.stringContaining(ids.one)]);
    expect(body).not.toContain("false");
  }
  expect(lured.heard).toEqual([]);
});

test("a call is never passed on again", { timeout: TIMEOUT_MS }, async () => {
  const stranger = await openStranger();
  const { one, two, ids, directory } = await openTwoHosts({ hostUrl: stranger.url });
  // The second host is asked for the first one's folder: as a person it calls the first, as a host it refuses.
  const request = get(at("/find/file?query=a", directory));
  const asked = await send(two.url, request, { call: callTo(two) });
  expect(asked).toMatchObject({ status: 503, isProven: true, body: expect.stringContaining(ids.one) });
  expect(stranger.heard).toEqual([]);
  // A URL that leads back to the caller, and one that leads to itself.
  for (const url of [two.url, stranger.url]) {
    stranger.heard.length = 0;
    stranger.act = (heard, outgoing) => passOn(url === two.url ? url : one.url, heard, outgoing);
    const { status } = await ask(two.url, request);
    expect([url, status, stranger.heard.length]).toEqual([url, url === two.url ? 503 : 200, 1]);
  }
});
