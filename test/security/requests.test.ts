/** Requests that stall, come in crowds, or name what they should not: each is bounded or refused. */
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { connect as connectSocket, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

async function open(port: number): Promise<Socket> {
  const socket = connectSocket(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

test.each([
  ["headers", "POST /v1/sessions/a HTTP/1.1\r\nHost: 127.0.0.1\r\n"],
  ["body", "POST /v1/sessions/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"],
])("a request whose %s never come is cut off", async (_, text) => {
  const limits = { headersMs: 200, requestMs: 400, checkMs: 50 };
  const { port } = await startDaemon({ connectionLimits: limits });
  const socket = await open(port);
  socket.resume().write(text);
  await once(socket, "close");
});

test("a connection too many is closed at once, and those that are open keep working", async () => {
  const { port } = await startDaemon({ connectionLimits: { connections: 2 } });
  const [one] = [await open(port), await open(port)];
  const surplus = connectSocket(port, "127.0.0.1");
  surplus.on("error", () => {}).resume();
  await once(surplus, "close");
  one.write("GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  const [answer]: unknown[] = await once(one, "data");
  expect(String(answer)).toContain("200 OK");
});

test("a NUL in a directory is the caller's mistake", async () => {
  const { url } = await startDaemon({ opencodeRoot: false });
  const body = JSON.stringify({ agent: "mock", directory: "/tmp/a\0b" });
  const created = await fetch(`${url}/v1/sessions/nul`, { method: "POST", body });
  expect(created.status).toBe(400);
  for (const path of ["file?path=.", "find/file?query=a", "vcs?", "session?", "path?", "project?"]) {
    const response = await fetch(`${url}/opencode/${path}&directory=${encodeURIComponent("/tmp/a\0b")}`);
    expect([path, response.status]).toEqual([path, 400]);
  }
});

test("in the root directory everything is inside", async () => {
  const { url, client } = await startDaemon();
  await client.create({ agent: "mock", directory: "/" });
  const inside = await fetch(`${url}/opencode/file?path=${encodeURIComponent(tmpdir())}&directory=%2F`);
  expect(inside.status).toBe(200);
});

test("files of prompts are not written through a link that another user could have made", async () => {
  const trap = temporaryFolder();
  vi.stubEnv("TMPDIR", trap);
  onTestFinished(() => void vi.unstubAllEnvs());
  const guessed = join(tmpdir(), `franca-attachments-${process.pid}`);
  mkdirSync(join(trap, "target"));
  symlinkSync(join(trap, "target"), guessed);
  const { url, close } = await startDaemon();
  const made = await fetch(`${url}/opencode/session`, { method: "POST", body: "{}" });
  const { id }: { id: string } = JSON.parse(await made.text());
  const file = { type: "file", mime: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" };
  const parts = [{ type: "text", text: "echo" }, file];
  const said = await fetch(`${url}/opencode/session/${id}/message`, {
    method: "POST",
    body: JSON.stringify({ parts }),
  });
  expect(said.status).toBe(200);
  expect(readdirSync(join(trap, "target"))).toEqual([]);
  await close();
  const left = readdirSync(trap).filter((name) => name.startsWith("franca-attachments-"));
  expect(left).toEqual([basename(guessed)]);
});
