/** Clients without a credential open as many connections as they can: the owner still gets in. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";

const TOKEN = "correct-horse";
const LIMITS = { connections: 64, unauthenticated: 16 };
/** More than the daemon takes in all. */
const CROWD = 200;

/** The connection may be closed at any time: that is what the daemon does with surplus ones. */
async function open(port: number, text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {}).resume();
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  if (socket.writable && text !== "") socket.write(text);
  return socket;
}

const HOST = "Host: 127.0.0.1\r\n";

test.each([
  ["send nothing", ""],
  ["never finish their headers", `GET /v1/sessions HTTP/1.1\r\n${HOST}`],
  ["never finish a body, without a token", `POST /v1/login HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\n{`],
  [
    "never finish a body, with a wrong token",
    `POST /v1/sessions HTTP/1.1\r\n${HOST}Authorization: Bearer x\r\nContent-Length: 100\r\n\r\n{`,
  ],
  ["stay open after a request that needs no token", `GET /v1/health HTTP/1.1\r\n${HOST}\r\n`],
])("the owner is served while many connections %s", async (_name, text) => {
  const { url, port } = await startDaemon({ token: TOKEN, connectionLimits: LIMITS });
  await Promise.all(Array.from({ length: CROWD }, () => open(port, text)));
  for (let count = 0; count < 5; count += 1) {
    const headers = { authorization: `Bearer ${TOKEN}`, connection: "close" };
    expect((await fetch(`${url}/v1/sessions`, { headers })).status).toBe(200);
  }
});

test("a stream of the owner's stays open while others are closed to make room", async () => {
  const { url, port } = await startDaemon({ token: TOKEN, connectionLimits: LIMITS });
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const headers = { authorization: `Bearer ${TOKEN}` };
  const stream = await fetch(`${url}/v1/events/sse`, { headers, signal: left.signal });
  const reader = stream.body?.getReader();
  await reader?.read();
  await Promise.all(Array.from({ length: CROWD }, () => open(port, "")));
  await fetch(`${url}/v1/sessions/made`, { method: "POST", headers, body: JSON.stringify({ agent: "mock" }) });
  const next = await reader?.read();
  expect([next?.done, Buffer.from(next?.value ?? []).toString()]).toEqual([
    false,
    expect.stringContaining('"session_id":"made"'),
  ]);
});

test("a body without a credential may be only small", async () => {
  const { url } = await startDaemon({ token: TOKEN });
  const body = JSON.stringify({ code: "x".repeat(100_000) });
  expect((await fetch(`${url}/v1/login`, { method: "POST", body })).status).toBe(413);
});
