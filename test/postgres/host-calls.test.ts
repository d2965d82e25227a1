/** Calls between hosts: what is on another host's disk is answered by it, through whichever host is asked. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { openCodeSessionId } from "../../src/projections/opencode/index.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { temporaryFolder } from "../support/folders.ts";
import { ask, at, openStranger, openTwoHosts, passOn, token } from "../support/host-calls.ts";
import { raw } from "../support/opencode-beside.ts";
import { openCodeApi } from "../support/opencode-client.ts";
import { homeOf, startHost, TOKEN } from "../support/postgres-hosts.ts";

const TIMEOUT_MS = 120_000;
const wait = { timeout: TIMEOUT_MS, interval: 20 };

/** A repository with a change, and a file that takes several pieces. */
function repository(): string {
  const directory = temporaryFolder();
  mkdirSync(join(directory, "docs"));
  writeFileSync(join(directory, "docs", "read me.md"), "needle in a file\n");
  const git = (...args: string[]) => execFileSync("git", ["-C", directory, ...args], { stdio: "ignore" });
  git("init", "-b", "trunk");
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-m", "one");
  writeFileSync(join(directory, "docs", "read me.md"), "needle in a changed file\n");
  writeFileSync(join(directory, "long.txt"), "0123456789".repeat(190_000));
  return directory;
}

test("files, searches and git of a folder are the same through another host", { timeout: TIMEOUT_MS }, async () => {
  const directory = repository();
  const { one, two } = await openTwoHosts({ directory });
  const paths = [
    ...["/file?path=.", "/file?path=docs", "/file/content?path=long.txt", "/file/status", "/file?path=nowhere"],
    ...["/find?pattern=needle", "/find?pattern=(", "/find/file?query=readme", "/find/symbol?query=a"],
    ...["/vcs", "/vcs/status", "/project/current", "/pty/shells"],
    ...["/api/fs/list", "/api/fs/find?query=read", "/api/fs/read/docs/read%20me.md", "/api/fs/read/nothing"],
    ...["/api/fs/read/docs/..%2f..%2fsecret", "/@mock/find/file?query=long", "/file/content?path=..%2fsecret"],
  ];
  for (const path of paths) {
    const [here, there] = [
      await ask(one.url, { path: at(path, directory) }),
      await ask(two.url, { path: at(path, directory) }),
    ];
    expect([path, there.status, there.body]).toEqual([path, here.status, here.body]);
    expect(there.headers["content-type"]).toBe(here.headers["content-type"]);
    expect(there.headers["content-security-policy"]).toContain("sandbox");
    expect(there.headers["franca-host-answer"]).toBeUndefined();
  }
  const found = await ask(two.url, { path: at("/find?pattern=needle", directory) });
  expect(found.body).toContain("changed file");
  expect((await ask(two.url, { path: at("/vcs", directory) })).body).toContain("trunk");
  const whole = await ask(two.url, { path: at("/file/content?path=long.txt", directory) });
  expect(whole.body.length).toBeGreaterThan(1_900_000);
  // By header, in a folder below, and without a body.
  const headers = { ...token, "x-opencode-directory": encodeURIComponent(join(directory, "docs")) };
  expect((await ask(two.url, { path: "/opencode/find/file?query=read", headers })).body).toBe('["read me.md"]');
  expect(await ask(two.url, { method: "HEAD", path: at("/vcs", directory) })).toMatchObject({ status: 200, body: "" });
});

describe("terminals", () => {
  const upgrade = (path: string, more: readonly string[]): string[] => [
    ...[`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"],
    ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", ...more],
  ];

  test("are opened, used and closed on the host of their folder", { timeout: TIMEOUT_MS }, async () => {
    const { two, directory } = await openTwoHosts({ beside: true });
    const headers = { ...token, "content-type": "application/json", cookie: "a=b", "x-opencode-ticket": "1" };
    const body = JSON.stringify({ title: "from another host", cwd: directory });
    const opened = await ask(two.url, { method: "POST", path: at("/pty", directory), headers, body });
    const reached = JSON.parse(opened.body);
    expect(reached).toMatchObject({ method: "POST", body });
    expect(reached.headers.cookie).toBeUndefined();
    expect(opened.headers["x-next-cursor"]).toBe("abc");
    expect(opened.headers["set-cookie"]).toBeUndefined();
    // What the other host refuses is refused here.
    const outside = { method: "POST", path: at("/pty", directory), headers, body: '{"cwd":"/etc"}' };
    expect((await ask(two.url, outside)).status).toBe(403);

    const path = at("/pty/pty_1/connect?cursor=3", directory);
    const answer = await raw(two.url, upgrade(path, [`Authorization: Bearer ${TOKEN}`, "Cookie: a=b"]), /\}\n/);
    expect(answer).toMatch(/^HTTP\/1\.1 101 /);
    expect(answer).not.toContain("franca-host");
    expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "").url).toBe(
      `/pty/pty_1/connect?cursor=3&directory=${encodeURIComponent(directory)}`,
    );
    // A page shows its ticket to the host that gave it.
    const shown = upgrade(at("/pty/pty_1/connect?ticket=a-ticket", directory), []);
    expect(await raw(two.url, shown)).toMatch(/^HTTP\/1\.1 401 /);
    const given = await ask(two.url, { method: "POST", path: at("/pty/pty_1/connect-token", directory), headers });
    expect(given).toMatchObject({ status: 200, body: expect.stringContaining("a-ticket") });
    expect(await raw(two.url, shown, /\}\n/)).toMatch(/^HTTP\/1\.1 101 /);
    expect(await raw(two.url, shown)).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("speak both ways, and end with the client", { timeout: TIMEOUT_MS }, async () => {
    const { two, directory } = await openTwoHosts({ beside: true });
    const { hostname, port } = new URL(two.url);
    const headers = { ...token, connection: "Upgrade", upgrade: "websocket" };
    const outgoing = request({ hostname, port, path: at("/pty/pty_1/connect", directory), headers }).end();
    const heard = await new Promise<string>((resolve, reject) => {
      outgoing.on("error", reject);
      outgoing.on("upgrade", (_answer, socket, head) => {
        let text = head.toString("utf8");
        socket.on("data", (bytes: Buffer) => {
          text += bytes.toString("utf8");
          if (text.includes("\n") && !text.includes("said")) socket.write("said back");
          if (!text.endsWith("said back")) return;
          socket.destroy();
          resolve(text);
        });
        if (text.includes("\n")) socket.write("said back");
      });
    });
    expect(heard).toContain("said back");
  });
});

test("a folder that this host trusts and has is its own", { timeout: TIMEOUT_MS }, async () => {
  const { one, two, directory } = await openTwoHosts();
  writeFileSync(join(directory, "a.txt"), "a");
  await one.close();
  expect((await ask(two.url, { path: at("/find/file?query=a", directory) })).status).toBe(503);
  await two.sessions.trust.add(directory, { force: true });
  expect(await ask(two.url, { path: at("/find/file?query=a", directory) })).toMatchObject({ body: '["a.txt"]' });
});

describe("503 names the host, and what to do", () => {
  test.each([
    ["http://10.1.2.3:7717", "give that host an https URL"],
    ["http://127.0.0.1:1", "cannot be reached (ECONNREFUSED)"],
  ])("%s", { timeout: TIMEOUT_MS }, async (hostUrl, why) => {
    const { two, ids, directory } = await openTwoHosts({ hostUrl });
    for (const path of ["/find/file?query=a", "/file?path=.", "/vcs/diff", "/pty", "/api/fs/list"]) {
      const { status, body } = await ask(two.url, { path: at(path, directory) });
      expect([status, body]).toEqual([503, expect.stringContaining(why)]);
      expect(body).toContain(`host ${ids.one} at ${hostUrl}`);
    }
  });

  test("a host that has ended", { timeout: TIMEOUT_MS }, async () => {
    const { one, two, ids, directory } = await openTwoHosts();
    await one.close();
    const { status, body } = await ask(two.url, { path: at("/vcs", directory) });
    expect([status, body]).toEqual([503, expect.stringContaining(`host ${ids.one}`)]);
    expect(body).toContain("which is gone: start that host again");
  });
});

test("the client's leaving ends the call; a silent host does not stop others", { timeout: TIMEOUT_MS }, async () => {
  const stranger = await openStranger();
  const { one, two, directory } = await openTwoHosts({ hostUrl: stranger.url });
  let closed = 0;
  stranger.act = (_heard, outgoing) => outgoing.on("close", () => (closed += 1));
  const leaving = new AbortController();
  const asked = fetch(two.url + at("/find?pattern=a", directory), { headers: token, signal: leaving.signal });
  await expect.poll(() => stranger.heard.length, wait).toBe(1);
  expect((await ask(two.url, { path: "/v1/sessions" })).status).toBe(200);
  expect(closed).toBe(0);
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await expect.poll(() => closed, wait).toBe(1);
  stranger.act = (heard, outgoing) => passOn(one.url, heard, outgoing);
  expect((await ask(two.url, { path: at("/vcs", directory) })).status).toBe(200);
});

test("a folder that goes to another host in between is answered by the new one", { timeout: TIMEOUT_MS }, async () => {
  const stranger = await openStranger();
  const { one, two, ids, directory } = await openTwoHosts({ hostUrl: stranger.url, trustedFolders: [] });
  writeFileSync(join(directory, "a.txt"), "a");
  stranger.act = async (heard, outgoing) => {
    await one.sessions.move(sessionId("s"), ids.two);
    const { status, headers, body } = await ask(one.url, heard);
    expect(status).toBe(503);
    for (const name of ["franca-host-answer", "franca-host-elsewhere"]) outgoing.setHeader(name, String(headers[name]));
    outgoing.writeHead(status).end(body);
  };
  const answer = await ask(two.url, { path: at("/find/file?query=a", directory) });
  expect(answer).toMatchObject({ status: 200, body: '["a.txt"]' });
  expect(stranger.heard).toHaveLength(1);
});

test("files are not taken back on another disk than the session's", { timeout: TIMEOUT_MS }, async () => {
  const directory = repository();
  const { two, ids } = await openTwoHosts({ directory });
  // A folder of the same name, which is there and trusted, and is not the session's.
  await two.sessions.trust.add(directory, { force: true });
  const api = openCodeApi(`${two.url}/opencode`, { directory, headers: token });
  const id = openCodeSessionId(sessionId("s"));
  await api.post(`/session/${id}/message`, { parts: [{ type: "text", text: "echo one" }] });
  const { body: messages } = await api.get(`/session/${id}/message`);
  const messageID = messages.find(({ info }: { info: { role: string } }) => info.role === "user").info.id;
  const { status, body } = await api.post(`/session/${id}/revert`, { messageID });
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(`its files are on host ${ids.one}`)]);
});

test("a new session in a folder of another host belongs to that host, with the rules of its files", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { one, two, ids, directory } = await openTwoHosts();
  writeFileSync(join(directory, "opencode.json"), JSON.stringify({ permission: { bash: "allow", edit: "deny" } }));
  const api = openCodeApi(`${two.url}/opencode`, { directory, headers: token });
  const expected = [
    { permission: "bash", pattern: "*", action: "allow" },
    { permission: "edit", pattern: "*", action: "deny" },
  ];
  const { body: session } = await api.post("/session", {});
  expect(session.permission).toEqual(expected);
  const { body: next } = await api.post("/api/session", {});
  for (const id of [session.id, next.data.id]) {
    const { placement, permissionRules } = await one.client.session(id).get({ limit: 0 });
    expect(placement).toEqual({ wanted: `host:${ids.one}`, host: ids.one, waiting: null });
    expect(permissionRules).toEqual(expected);
  }
  const { body } = await api.post(`/session/${session.id}/message`, { parts: [{ type: "text", text: "permission" }] });
  expect(JSON.stringify(body.parts)).toContain("bash was allowed, edit was rejected");
  // What its host cannot read is refused here too, in its words.
  writeFileSync(join(directory, "opencode.json"), "{ no JSON");
  const refused = await api.post("/session", {});
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([503, expect.stringContaining("it is no JSON")]);
});

/** TLS in front of a host, as a proxy beside it does it. */
async function openTls(folder: string, target: () => string): Promise<{ readonly url: string; readonly ca: string }> {
  const [key, ca] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=a host", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", ca, ...names], { stdio: "ignore" });
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(ca) }, (socket) => {
    const { hostname, port } = new URL(target());
    const upstream = connect(Number(port), hostname);
    const end = (): void => void [socket, upstream].map((one) => one.destroy());
    for (const one of [socket, upstream]) one.on("error", end).on("close", end);
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => void server.close());
  const { port }: AddressInfo = Object(server.address());
  return { url: `https://127.0.0.1:${port}`, ca };
}

test("by TLS with a certificate that is trusted, and not with another", { timeout: TIMEOUT_MS }, async () => {
  const directory = temporaryFolder();
  writeFileSync(join(directory, "a.txt"), "a");
  let target = "";
  const { url: hostUrl, ca } = await openTls(temporaryFolder(), () => target);
  const { one, two, databaseUrl } = await openTwoHosts({ directory, hostUrl });
  target = one.url;
  const path = at("/find/file?query=a", directory);
  const { status, body } = await ask(two.url, { path });
  expect([status, body]).toEqual([503, expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT")]);
  expect(body).toContain(hostUrl);
  const three = await startHost(databaseUrl, { home: homeOf("three"), env: { NODE_EXTRA_CA_CERTS: ca } });
  expect(await ask(three.url, { path })).toMatchObject({ status: 200, body: '["a.txt"]' });
});
