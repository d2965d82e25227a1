/** The port of the web app: who may use it, and what goes where. */
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { serveWebApp } from "../../../src/server/opencode/web-app.ts";
import { raw } from "../../support/opencode-beside.ts";
import { openSurface } from "../../support/opencode-surface.ts";

const PASSWORD = "a-password";
const login = `Basic ${Buffer.from(`opencode:${PASSWORD}`).toString("base64")}`;

async function openWebApp() {
  const { base } = await openSurface({ token: "secret-token" });
  const carrier = createServer((incoming, outgoing) => {
    outgoing.end(JSON.stringify({ page: incoming.url, login: incoming.headers.authorization }));
  });
  await new Promise<void>((resolve) => carrier.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void carrier.close());
  const at = carrier.address();
  const port = at === null || typeof at === "string" ? 0 : at.port;
  const page = { url: `http://127.0.0.1:${port}`, authorization: "Basic carrier" };
  const api = { url: base, authorization: "Bearer secret-token" };
  const web = await serveWebApp({ page, api, password: PASSWORD, port: 0 });
  onTestFinished(() => web.close());
  return web;
}

test("the API is the daemon's, with its own credential; everything else is the page's", async () => {
  const { url } = await openWebApp();
  const headers = { authorization: login };
  expect(await (await fetch(`${url}/global/health`, { headers })).json()).toMatchObject({ healthy: true });
  const page = await (await fetch(`${url}/some/page`, { headers })).json();
  expect(page).toEqual({ page: "/some/page", login: "Basic carrier" });
  expect((await fetch(`${url}/some/page`, { method: "POST", headers })).status).toBe(405);
});

test.each([
  ["no password", {}, 401],
  ["the daemon's token", { authorization: "Bearer secret-token" }, 401],
  ["a wrong password", { authorization: `Basic ${Buffer.from("opencode:no").toString("base64")}` }, 401],
  ["another site's page", { authorization: login, origin: "https://evil.example" }, 403],
  ["another site's request", { authorization: login, "sec-fetch-site": "cross-site" }, 403],
])("%s is refused", async (_, headers, status) => {
  const { url } = await openWebApp();
  expect((await fetch(`${url}/session`, { headers: Object.fromEntries(Object.entries(headers)) })).status).toBe(status);
});

test("a Host that is not ours, and a WebSocket without the password, are refused", async () => {
  const { url } = await openWebApp();
  const foreign = ["GET /session HTTP/1.1", "Host: evil.example", `Authorization: ${login}`, "Connection: close"];
  expect(await raw(url, foreign)).toMatch(/^HTTP\/1\.1 403 /);
  const socket = ["GET /pty/pty_1/connect HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"];
  expect(await raw(url, socket)).toMatch(/^HTTP\/1\.1 401 /);
});

test("what holds a WebSocket open does not keep the port open", async () => {
  const api = createServer();
  api.on("upgrade", (_, socket) => {
    socket.on("error", () => socket.destroy());
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void api.close());
  const at = api.address();
  const origin = {
    url: `http://127.0.0.1:${at === null || typeof at === "string" ? 0 : at.port}`,
    authorization: null,
  };
  const web = await serveWebApp({ page: origin, api: origin, password: PASSWORD, port: 0 });
  const lines = ["GET /pty/pty_1/connect HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"];
  expect(await raw(web.url, [...lines, `Authorization: ${login}`])).toMatch(/^HTTP\/1\.1 101 /);
  await web.close();
  await expect(fetch(web.url)).rejects.toThrow();
});
