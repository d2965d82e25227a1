/** Adopted conversations over HTTP: who may ask, what is refused, and that every surface shows the history whole. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { recordedHome, sessionFileRecordings } from "../support/session-files.ts";

const TOKEN = "the-token-of-this-test";
const ID = "5e551011-0000-4000-8000-000000000005";

let daemon: TestDaemon;
let home: string;

beforeAll(() => {
  const recording = sessionFileRecordings.find(({ name }) => name === "claude/two-turns");
  if (recording === undefined) throw new Error("There is no recording claude/two-turns.");
  home = recordedHome(recording).home;
  vi.stubEnv("HOME", home);
  for (const name of ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"]) vi.stubEnv(name, undefined);
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const call = (path: string, body?: object, token: string = TOKEN): Promise<Response> =>
  fetch(`${daemon.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe("what is refused", () => {
  test.each([
    { path: "/v1/discover?agent=nobody", status: 400, says: "nobody" },
    { path: "/v1/discover?since=yesterday", status: 400, says: "since" },
    { path: "/v1/adopt", body: { agent: "claude" }, status: 400, says: "nativeSessionId" },
    {
      path: "/v1/adopt",
      body: { agent: "claude", nativeSessionId: ID, permissionMode: "bypass" },
      status: 400,
      says: "permissionMode",
    },
    {
      path: "/v1/adopt",
      body: { agent: "claude", nativeSessionId: "../../etc/passwd" },
      status: 404,
      says: "Claude Code",
    },
    { path: "/v1/adopt", body: { agent: "mock", nativeSessionId: ID }, status: 400, says: "mock" },
  ])("$path $body", async ({ path, body, status, says }) => {
    daemon = await startDaemon({ token: TOKEN });
    const response = await call(path, body);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(says);
  });

  test("a page's login: titles and folders are the person's", async () => {
    daemon = await startDaemon({ token: TOKEN });
    const { code } = await connect({ url: daemon.url, token: TOKEN }).makeLoginCode();
    const login = await fetch(`${daemon.url}/v1/login`, { method: "POST", body: JSON.stringify({ code }) });
    const { credential }: { credential: string } = JSON.parse(await login.text());
    expect((await call("/v1/sessions", undefined, credential)).status).toBe(200);
    expect((await call("/v1/discover", undefined, credential)).status).toBe(403);
    expect((await call("/v1/adopt", { agent: "claude", nativeSessionId: ID }, credential)).status).toBe(403);
  });
});

test("an adopted conversation is whole in /v1 and in /opencode", async () => {
  daemon = await startDaemon({ token: TOKEN });
  const { client } = daemon;
  const { conversations } = await client.discover({ agent: "claude" });
  expect(conversations).toMatchObject([{ agent: "claude", nativeSessionId: ID, title: "Hello?", sessionId: null }]);
  const { sessionId } = await client.adopt({ agent: "claude", nativeSessionId: ID });
  const session = await client.session(sessionId).get();
  const texts = ["Hello?", "Hello.", "Run echo a and echo b.", "Running both.", "Both ran."];
  for (const text of texts) expect(JSON.stringify(session.items)).toContain(JSON.stringify(text));
  const messages = await (await call(`/opencode/session/${session.opencodeId}/message`)).text();
  for (const text of texts) expect(messages).toContain(JSON.stringify(text));
  expect(messages).toContain('"tool":"bash"');
});
