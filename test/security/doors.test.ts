/** Who gets in: tokens, Host headers, origins, and what needs none of them. */
import { request } from "node:http";
import { expect, test } from "vitest";
import { isLoopback, tokenOf } from "../../src/server/http/auth.ts";
import { startDaemon } from "../support/daemon.ts";

const TOKEN = "correct-horse";

/** `fetch` does not let one choose the Host header. */
function rawRequest(
  url: string,
  options: { method?: string; headers?: Record<string, string> },
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(url, { method: options.method ?? "GET", headers: options.headers ?? {} }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sending.on("error", reject);
    sending.end();
  });
}

const codeOf = (body: string): unknown => JSON.parse(body).code;

test("with a token every route needs it, but health", async () => {
  const { url } = await startDaemon({ token: TOKEN });
  expect((await fetch(`${url}/v1/health`)).status).toBe(200);
  for (const path of ["/v1/sessions", "/v1/agents", "/metrics", "/openapi.json", "/v1/events/sse", "/no-such"]) {
    const without = await fetch(url + path);
    expect([path, without.status]).toEqual([path, 401]);
    expect(without.headers.get("content-type")).toBe("application/problem+json");
    expect(await without.json()).toMatchObject({
      type: "urn:franca:error:token_invalid",
      status: 401,
      code: "token_invalid",
    });
  }
  const wrong = await fetch(`${url}/v1/sessions`, { headers: { authorization: "Bearer correct-horsf" } });
  expect(wrong.status).toBe(401);
});

test("the token is taken as Bearer and as the password of Basic", async () => {
  const { url } = await startDaemon({ token: TOKEN });
  const basic = Buffer.from(`opencode:${TOKEN}`).toString("base64");
  for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `Basic ${basic}`]) {
    expect((await fetch(`${url}/v1/sessions`, { headers: { authorization } })).status).toBe(200);
  }
  expect(tokenOf("Basic !!!")).toBeNull();
  expect(tokenOf("Digest x")).toBeNull();
});

test("a foreign Host header is refused on loopback, whatever the token", async () => {
  const { url, port } = await startDaemon({ token: TOKEN });
  const authorization = `Bearer ${TOKEN}`;
  const foreign = await rawRequest(`${url}/v1/sessions`, { headers: { host: "evil.example", authorization } });
  expect([foreign.status, codeOf(foreign.body)]).toEqual([403, "host_not_allowed"]);
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "franca.localhost"]) {
    expect((await rawRequest(`${url}/v1/sessions`, { headers: { host, authorization } })).status).toBe(200);
  }
  for (const host of [
    "127.0.0.1:evil.com",
    "[::1]evil.com",
    "[::1",
    "localhost:",
    "127.0.0.1:1:2",
    "127.0.0.1 evil.com",
  ]) {
    const { status, body } = await rawRequest(`${url}/v1/sessions`, { headers: { host, authorization } });
    expect([host, status, codeOf(body)]).toEqual([host, 403, "host_not_allowed"]);
  }
  expect(isLoopback("127.evil.example")).toBe(false);
  expect(isLoopback("localhost.evil.example")).toBe(false);
});

test("a page of another origin can change nothing", async () => {
  const { url } = await startDaemon();
  const answer = await rawRequest(`${url}/v1/sessions/a`, {
    method: "POST",
    headers: { origin: "https://evil.example" },
  });
  expect([answer.status, codeOf(answer.body)]).toEqual([403, "origin_not_allowed"]);
});

test("CORS is closed unless opened per origin; a preflight needs no token", async () => {
  const origin = "https://app.example";
  const { url } = await startDaemon({ token: TOKEN, corsAllowOrigin: [origin] });
  const preflight = await fetch(`${url}/v1/sessions/a`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
  expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("authorization");

  const headers = { authorization: `Bearer ${TOKEN}` };
  const opened = await fetch(`${url}/v1/sessions`, { headers: { ...headers, origin } });
  expect(opened.headers.get("access-control-allow-origin")).toBe(origin);
  const closed = await fetch(`${url}/v1/sessions`, { headers: { ...headers, origin: "https://other.example" } });
  expect(closed.headers.get("access-control-allow-origin")).toBeNull();
});

test("without a token only loopback is served", async () => {
  await expect(startDaemon({ host: "0.0.0.0" })).rejects.toMatchObject({ code: "token_invalid" });
});
