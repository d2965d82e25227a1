/** Bad input: each with a clear error and its own code. */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon, type TestDaemon } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";

interface Said {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

async function say(daemon: TestDaemon, method: string, path: string, body?: unknown): Promise<Said> {
  const text = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(daemon.url + path, { method, ...(text === undefined ? {} : { body: text }) });
  const answer = await response.text();
  if (response.ok) return { status: response.status, code: "", detail: "" };
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem = JSON.parse(answer);
  expect(problem).toMatchObject({ type: `urn:franca:error:${problem.code}`, status: response.status });
  expect(problem.title).not.toBe("");
  return { status: response.status, code: problem.code, detail: problem.detail };
}

test("requests that cannot be meant so", async () => {
  const daemon = await startDaemon({ maxBodyBytes: 1000 });
  const make = (body: unknown) => say(daemon, "POST", "/v1/sessions/new", body);

  expect(await make({ agent: "nobody" })).toMatchObject({ status: 400, code: "unsupported_agent" });
  expect(await make("{ agent")).toMatchObject({
    status: 400,
    code: "invalid_request",
    detail: expect.stringMatching(/not JSON/),
  });
  expect(await make("")).toMatchObject({
    status: 400,
    code: "invalid_request",
    detail: expect.stringMatching(/empty/),
  });
  expect(await make({ agent: "mock", colour: "red" })).toMatchObject({
    status: 400,
    code: "invalid_request",
    detail: expect.stringMatching(/unknown field `colour`/),
  });
  expect(await make({ agent: "mock", permissionMode: "yolo" })).toMatchObject({
    status: 400,
    code: "invalid_request",
    detail: expect.stringMatching(/`permissionMode`/),
  });
  expect(await make({ agent: "mock", directory: join(daemon.directory, "gone") })).toMatchObject({
    status: 400,
    code: "directory_not_found",
    detail: expect.stringMatching(/gone/),
  });
  expect(await make({ agent: "mock", title: "x".repeat(2000) })).toMatchObject({ status: 413, code: "body_too_large" });
  expect(await say(daemon, "GET", "/v1/sessions/none")).toMatchObject({ status: 404, code: "session_not_found" });
  expect(await say(daemon, "GET", "/v1/sessions/none/events/sse")).toMatchObject({
    status: 404,
    code: "session_not_found",
  });
  expect(await say(daemon, "POST", "/v1/sessions/none/messages", { message: "x" })).toMatchObject({
    status: 404,
    code: "session_not_found",
  });
  expect(await make({ agent: "mock" })).toMatchObject({ status: 200 });
  expect(await say(daemon, "POST", "/v1/sessions/new/messages", { message: " " })).toMatchObject({
    status: 400,
    code: "invalid_request",
    detail: expect.stringMatching(/empty/),
  });
  expect(await say(daemon, "GET", "/v1/nothing")).toMatchObject({
    status: 404,
    code: "not_found",
    detail: expect.stringMatching(/openapi\.json/),
  });
  expect(await say(daemon, "PUT", "/v1/sessions")).toMatchObject({ status: 405, code: "method_not_allowed" });
});

test("a body without a length is counted as it comes", async () => {
  const daemon = await startDaemon({ maxBodyBytes: 1000 });
  const body = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 20; i += 1) controller.enqueue(new TextEncoder().encode(" ".repeat(100)));
      controller.close();
    },
  });
  const response = await fetch(`${daemon.url}/v1/sessions/a`, { method: "POST", body, duplex: "half" } as RequestInit);
  expect(response.status).toBe(413);
});

test("sessions and requests that are there no more, or already", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ id: "a", agent: "mock", directory: daemon.directory });
  expect(await say(daemon, "POST", "/v1/sessions/a", { agent: "mock" })).toMatchObject({
    status: 409,
    code: "session_already_exists",
  });
  const reply = { reply: "once" };
  expect(await say(daemon, "POST", "/v1/sessions/a/permissions/none/reply", reply)).toMatchObject({
    status: 404,
    code: "permission_not_found",
  });
  expect(await say(daemon, "POST", "/v1/sessions/a/questions/none/reject")).toMatchObject({
    status: 404,
    code: "question_not_found",
  });

  const asked: string[] = [];
  for await (const event of session.ask("permission")) {
    if (event.type !== "permission.requested") continue;
    const { permission_id } = event.data;
    asked.push(permission_id);
    const path = `/v1/sessions/a/permissions/${encodeURIComponent(permission_id)}/reply`;
    expect(await say(daemon, "POST", path, { reply: "maybe" })).toMatchObject({ status: 400, code: "invalid_request" });
    expect(await say(daemon, "POST", path, reply)).toMatchObject({ status: 204 });
    expect(await say(daemon, "POST", path, reply)).toMatchObject({ status: 409, code: "already_answered" });
  }
  expect(asked).toHaveLength(2);

  await session.terminate();
  expect(await say(daemon, "POST", "/v1/sessions/a/messages", { message: "x" })).toMatchObject({
    status: 409,
    code: "session_ended",
  });
});

test("a port in use, a folder in use, and a folder that cannot be written", async () => {
  const daemon = await startDaemon();
  await expect(startDaemon({ port: daemon.port })).rejects.toMatchObject({ code: "address_in_use" });

  const data = join(temporaryFolder(), "data");
  await startDaemon({ store: "sqlite", data });
  await expect(startDaemon({ store: "sqlite", data })).rejects.toMatchObject({
    message: expect.stringContaining(data),
  });

  const closed = join(temporaryFolder(), "closed");
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  // Root may write anywhere but below a file.
  const unwritable = process.getuid?.() === 0 ? "/proc/version/franca" : join(closed, "data");
  await expect(startDaemon({ store: "sqlite", data: unwritable })).rejects.toMatchObject({ code: "storage_error" });
});

test("a daemon that could not start has let go of its folder", async () => {
  const busy = await startDaemon();
  const data = join(temporaryFolder(), "data");
  await expect(startDaemon({ store: "sqlite", data, port: busy.port })).rejects.toMatchObject({
    code: "address_in_use",
  });
  const daemon = await startDaemon({ store: "sqlite", data });
  expect(await daemon.client.health()).toMatchObject({ status: "ok" });
});
