/** What OpenCode's own server answers through us: only what is on the list, for whom and where it may be. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../support/folders.ts";
import { openBeside, raw } from "../../support/opencode-beside.ts";
import { listen, openCodeApi } from "../../support/opencode-client.ts";

test("the operation, its parameters and its body reach OpenCode; who asked and from where do not", async () => {
  const { daemon, headers, directory } = await openBeside();
  const response = await fetch(
    `${daemon.url}/opencode/pty/pty_1?cursor=5&auth_token=x&workspace=w&directory=${directory}`,
    {
      method: "PUT",
      headers: {
        ...headers,
        "content-type": "application/json",
        cookie: "a=b",
        forwarded: "for=evil",
        "x-forwarded-for": "evil",
        "x-opencode-directory": "/etc",
        "x-custom": "1",
      },
      body: JSON.stringify({ title: "one" }),
    },
  );
  expect(response.status).toBe(200);
  const reached: {
    method: string;
    url: string;
    body: string;
    headers: Record<string, string>;
  } = JSON.parse(await response.text());
  expect(reached).toMatchObject({ method: "PUT", body: '{"title":"one"}' });
  expect(reached.url).toBe(`/pty/pty_1?cursor=5&directory=${encodeURIComponent(directory)}`);
  const sent = Object.keys(reached.headers);
  for (const name of ["cookie", "forwarded", "x-forwarded-for", "x-opencode-directory", "x-custom", "origin"]) {
    expect(sent).not.toContain(name);
  }
  const login = reached.headers.authorization ?? "";
  expect(login).toMatch(/^Basic /);
  expect(Buffer.from(login.slice(6), "base64").toString()).not.toContain("secret-token");
  expect(response.headers.get("x-next-cursor")).toBe("abc");
  expect(response.headers.get("link")).toBe('<a>; rel="next"');
  expect(response.headers.get("set-cookie")).toBeNull();
  expect(response.headers.get("x-secret")).toBeNull();
});

describe("a path leads nowhere else", () => {
  test.each([
    "/opencode/pty/..%2f..%2fglobal%2fdispose",
    "/opencode/pty/..",
    "/opencode/pty/%2e%2e",
    "/opencode/pty/a%2Fb",
    "/opencode/pty/a%5Cb",
    "/opencode/pty/a%0d%0aX:1",
    "/opencode/pty/http:%2f%2fevil",
    "/opencode/api/fs/read/../../../etc/passwd",
    "/opencode/api/fs/read/..%2f..%2fetc%2fpasswd",
    "/opencode/api/fs/read/%2e%2e/secret",
    "/opencode/api/fs/read//etc/passwd",
    "/opencode/pty/..;/session",
  ])("%s", async (path) => {
    const { daemon, directory, token } = await openBeside();
    const answer = await raw(daemon.url, [
      `GET ${path}?directory=${encodeURIComponent(directory)} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Connection: close",
      `Authorization: Bearer ${token}`,
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  test.each([
    ["POST", "/global/dispose"],
    ["POST", "/instance/dispose"],
    ["POST", "/global/upgrade"],
    ["POST", "/sync/start"],
    ["POST", "/experimental/workspace"],
    ["POST", "/experimental/control-plane/move-session"],
  ])("%s %s is refused with why", async (method, path) => {
    const { api } = await openBeside();
    const { status, body } = await api.call(method, path, {});
    expect(status).toBe(501);
    expect(body.data.message.length).toBeGreaterThan(path.length + 10);
  });

  test("what is not on the list is not asked", async () => {
    const { api } = await openBeside();
    for (const path of ["/whatever", "/session/x/secret", "/pty/pty_1/other"]) {
      expect((await api.get(path)).status).toBe(404);
    }
  });
});

describe("a folder that nobody trusts", () => {
  test("is not worked in, whichever way it is named", async () => {
    const trusted = temporaryFolder();
    const other = temporaryFolder();
    symlinkSync(other, join(trusted, "link"));
    mkdirSync(join(trusted, "inside"));
    const { daemon, headers } = await openBeside({ trustedFolders: [trusted] });
    const ask = async (directory: string, init: RequestInit = {}): Promise<number> => {
      const url = `${daemon.url}/opencode/pty?directory=${encodeURIComponent(directory)}`;
      const response = await fetch(url, { ...init, headers: { ...headers, "content-type": "application/json" } });
      return response.status;
    };
    expect(await ask(other)).toBe(403);
    expect(await ask(join(trusted, "link"))).toBe(403);
    expect(await ask(`${trusted}/../${other.split("/").at(-1)}`)).toBe(403);
    expect(await ask(join(trusted, "missing"))).toBe(403);
    expect(await ask(trusted, { method: "POST", body: JSON.stringify({ cwd: other }) })).toBe(403);
    expect(await ask(trusted, { method: "POST", body: JSON.stringify({ cwd: "link" }) })).toBe(403);
    expect(await ask(trusted, { method: "POST", body: JSON.stringify({ location: { directory: other } }) })).toBe(403);
    expect(await ask(trusted, { method: "POST", body: JSON.stringify({ cwd: "inside" }) })).toBe(200);
  });
});

test("credentials are not shown, and a redacted value does not come back as one", async () => {
  const { api } = await openBeside();
  const { status, body } = await api.call("PATCH", "/config", { theme: "x" });
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toContain("hunter2");
  expect(body.provider.lab.options).toEqual({ apiKey: "[redacted]", url: "https://example.org/x" });
  expect((await api.call("PATCH", "/config", body)).status).toBe(400);
});

test("its death is a 502, and the next request starts it again", async () => {
  const { api } = await openBeside();
  expect((await api.get("/pty/pty_die")).status).toBe(502);
  expect((await api.get("/pty/pty_1")).status).toBe(200);
});

test("without OpenCode: what Franca can do by itself, and one sentence for the rest", async () => {
  const { api } = await openBeside({ installed: false });
  const { status, body } = await api.get("/pty");
  expect(status).toBe(501);
  expect(body.data.message).toContain("franca agents install opencode");
  expect((await api.get("/mcp")).body).toEqual({});
  expect((await api.get("/file?path=.")).status).toBe(200);
});

test("its events about terminals, files and servers are in our stream; its conversations and other folders are not", async () => {
  const folder = temporaryFolder();
  const { daemon, headers } = await openBeside({ token: null, trustedFolders: [folder] });
  const listener = await listen(`${daemon.url}/opencode`, { path: "/global/event" });
  await fetch(`${daemon.url}/opencode/pty/shells?directory=${encodeURIComponent(folder)}`, { headers });
  await listener.until(({ type }) => String(type) === "lsp.updated");
  const types = listener.heard.map(({ event }) => String(event.type));
  expect(types).toContain("pty.created");
  expect(types).not.toContain("session.idle");
  expect(types).not.toContain("vcs.branch.updated");
});

describe("a WebSocket", () => {
  const upgrade = (path: string, more: readonly string[]): string[] => [
    `GET ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    ...more,
  ];

  test("passes with the token, without the client's own headers", async () => {
    const { daemon, directory, token } = await openBeside();
    const path = `/opencode/pty/pty_1/connect?directory=${encodeURIComponent(directory)}&cursor=3`;
    const more = [`Authorization: Bearer ${token}`, "Cookie: a=b"];
    const answer = await raw(daemon.url, upgrade(path, more), /\}\n/);
    expect(answer).toMatch(/^HTTP\/1\.1 101 /);
    const reached = JSON.parse(answer.split("\r\n\r\n")[1] ?? "");
    expect(reached.url).toBe(`/pty/pty_1/connect?cursor=3&directory=${encodeURIComponent(directory)}`);
    expect(reached.headers.cookie).toBeUndefined();
    expect(reached.headers.authorization).toMatch(/^Basic /);
  });

  test("passes once with a ticket that was given to somebody with the token", async () => {
    const { daemon, api, directory, headers } = await openBeside();
    const path = `/opencode/pty/pty_1/connect?ticket=a-ticket&directory=${encodeURIComponent(directory)}`;
    expect(await raw(daemon.url, upgrade(path, []))).toMatch(/^HTTP\/1\.1 401 /);
    // Only for who says, by a header, that it is what he wants.
    expect((await api.post("/pty/pty_1/connect-token", {})).status).toBe(403);
    expect(await raw(daemon.url, upgrade(path, []))).toMatch(/^HTTP\/1\.1 401 /);
    const asking = { directory, headers: { ...headers, "x-opencode-ticket": "1" } };
    const { status } = await openCodeApi(`${daemon.url}/opencode`, asking).post("/pty/pty_1/connect-token", {});
    expect(status).toBe(200);
    expect(await raw(daemon.url, upgrade(path, []), /\}\n/)).toMatch(/^HTTP\/1\.1 101 /);
    expect(await raw(daemon.url, upgrade(path, []))).toMatch(/^HTTP\/1\.1 401 /);
  });

  test.each([
    ["no token", "/opencode/pty/pty_1/connect", [], 401],
    ["a wrong token", "/opencode/pty/pty_1/connect", ["Authorization: Bearer nonsense"], 401],
    ["another site's page", "/opencode/pty/pty_1/connect", ["TOKEN", "Origin: https://evil.example"], 403],
    ["another path", "/opencode/event", ["TOKEN"], 404],
    ["a path upwards", "/opencode/pty/..%2f..%2fglobal/connect", ["TOKEN"], 400],
  ])("%s is refused before a byte reaches OpenCode", async (_, path, more, status) => {
    const { daemon, directory, token } = await openBeside();
    const sent = more.map((line) => (line === "TOKEN" ? `Authorization: Bearer ${token}` : line));
    const answer = await raw(daemon.url, upgrade(`${path}?directory=${encodeURIComponent(directory)}`, sent));
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("a Host that is not ours and a folder that nobody trusts are refused too", async () => {
    const { daemon, token } = await openBeside({ trustedFolders: [temporaryFolder()] });
    const lines = upgrade("/opencode/pty/pty_1/connect?directory=%2Fetc", [`Authorization: Bearer ${token}`]);
    expect(await raw(daemon.url, lines)).toMatch(/^HTTP\/1\.1 403 /);
    const foreign = lines.map((line) => (line.startsWith("Host:") ? "Host: evil.example" : line));
    expect(await raw(daemon.url, foreign)).toMatch(/^HTTP\/1\.1 403 /);
  });
});
