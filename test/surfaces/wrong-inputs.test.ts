/**
 * Wrong inputs to the API and the SDK: each is refused with its own code, in a sentence that names what was wrong and
 * says what to do. The command line has a table of its own.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connect, UsageError } from "../../src/sdk/index.ts";
import { type Daemon, openDaemon } from "../../src/server/compose.ts";

let daemon: Daemon;
const directory = process.cwd();
const SESSION = "there";

beforeAll(async () => {
  daemon = await openDaemon({
    host: "127.0.0.1",
    port: 0,
    token: null,
    data: "/nowhere",
    store: "memory",
    durability: "normal",
    corsAllowOrigin: [],
    defaultAgent: "mock",
    watchdogMs: null,
    passEnv: [],
    trustedFolders: [directory],
    maxBodyBytes: 4_000,
  });
  await connect({ url: daemon.url }).create({ id: SESSION, agent: "mock", directory });
  await connect({ url: daemon.url }).create({ id: "over", agent: "mock", directory });
  await connect({ url: daemon.url }).session("over").terminate();
});
afterAll(() => daemon.close());

interface Refused {
  /** Method and path; the body follows. */
  readonly call: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly gives: string;
  readonly says: RegExp;
}

const at = `/v1/sessions/${SESSION}`;

const api: readonly Refused[] = [
  { call: "POST /v1/sessions", body: "{ agent", gives: "400 invalid_request", says: /not JSON/ },
  { call: "POST /v1/sessions", body: [], gives: "400 invalid_request", says: /The body: .*object/ },
  { call: "POST /v1/sessions", body: { agent: "nobody" }, gives: "400 unsupported_agent", says: /nobody.*mock/ },
  { call: "POST /v1/sessions", body: { agent: 7 }, gives: "400 invalid_request", says: /`agent`.*string/ },
  { call: "POST /v1/sessions", body: { agent: "" }, gives: "400 invalid_request", says: /`agent`/ },
  { call: "POST /v1/sessions", body: { colour: "red" }, gives: "400 invalid_request", says: /unknown field `colour`/ },
  {
    call: "POST /v1/sessions",
    body: { budget: { session: { costUsd: -1 } } },
    gives: "400 invalid_request",
    says: /`budget.session.costUsd`/,
  },
  {
    call: "POST /v1/sessions",
    body: { budget: { day: { steps: 1 } } },
    gives: "400 invalid_request",
    says: /unknown field `(?:budget.)?day`/,
  },
  {
    call: `POST ${at}/messages`,
    body: { message: "hi", budget: { tokens: 1.5 } },
    gives: "400 invalid_request",
    says: /`budget.tokens`/,
  },
  { call: "POST /v1/mcp", body: { method: "ping" }, gives: "400 invalid_request", says: /`jsonrpc`/ },
  { call: "GET /v1/mcp", gives: "405 method_not_allowed", says: /takes POST/ },
  {
    call: "POST /v1/sessions",
    body: { delegate: { depth: 99 } },
    gives: "400 invalid_request",
    says: /`delegate/,
  },
  { call: "GET /v1/usage?by=colour", gives: "400 invalid_request", says: /`by`.*"folder"/ },
  {
    call: "POST /v1/sessions",
    body: { permissionMode: "yolo" },
    gives: "400 invalid_request",
    says: /`permissionMode`.*"bypass"/,
  },
  {
    call: "POST /v1/sessions",
    body: { directory: "/gone/away" },
    gives: "400 directory_not_found",
    says: /\/gone\/away/,
  },
  {
    call: "POST /v1/sessions",
    body: { directory: "/etc/hostname" },
    gives: "400 directory_not_found",
    says: /hostname/,
  },
  {
    call: "POST /v1/sessions",
    body: { directory: `/${"long".repeat(80)}` },
    gives: "400 directory_not_found",
    says: /does not exist/,
  },
  {
    call: "POST /v1/trust",
    body: { directory: `/${"long".repeat(80)}` },
    gives: "400 directory_not_found",
    says: /does not exist/,
  },
  { call: "POST /v1/sessions", body: { directory: "a\0b" }, gives: "400 invalid_request", says: /NUL/ },
  { call: "POST /v1/sessions", body: { watchdogMs: 1 }, gives: "400 invalid_request", says: /`watchdogMs`.*100/ },
  { call: "POST /v1/sessions", body: { title: "x".repeat(501) }, gives: "400 invalid_request", says: /`title`.*500/ },
  { call: "POST /v1/sessions", body: { title: "x".repeat(5_000) }, gives: "413 body_too_large", says: /4000 bytes/ },
  {
    call: "POST /v1/sessions",
    body: { unattended: { policy: "shrug" } },
    gives: "400 invalid_request",
    says: /`unattended.policy`/,
  },
  { call: "POST /v1/sessions", body: { agentMode: "turbo" }, gives: "400 mode_not_supported", says: /turbo/ },
  { call: `POST ${at}`, body: { agent: "mock" }, gives: "409 session_already_exists", says: /there/ },
  { call: `POST /v1/sessions/${"x".repeat(300)}`, body: {}, gives: "400 invalid_request", says: /The session id.*256/ },
  { call: "GET /v1/sessions/none", gives: "404 session_not_found", says: /none/ },
  { call: "GET /v1/sessions?limit=0", gives: "400 invalid_request", says: /`limit`.*1/ },
  { call: "GET /v1/sessions?limit=many", gives: "400 invalid_request", says: /`limit`.*number/ },
  { call: "GET /v1/sessions?status=asleep", gives: "400 invalid_request", says: /`status`.*"idle"/ },
  { call: "GET /v1/sessions?cursor=%00", gives: "400 invalid_request", says: /cursor/ },
  { call: `GET ${at}/events?offset=-1`, gives: "400 invalid_request", says: /`offset`/ },
  { call: `GET ${at}/events?include_raw=maybe`, gives: "400 invalid_request", says: /`include_raw`.*"true"/ },
  { call: `GET ${at}/events/sse?format=klingon`, gives: "400 invalid_request", says: /`format`.*"universal"/ },
  {
    call: `GET ${at}/events/sse?format=takopi&include_raw=1`,
    gives: "400 invalid_request",
    says: /include_raw.*universal/,
  },
  {
    call: `GET ${at}/events/sse`,
    headers: { "last-event-id": "abc" },
    gives: "400 invalid_request",
    says: /Last-Event-ID "abc"/,
  },
  { call: `POST ${at}/messages`, body: { message: " " }, gives: "400 invalid_request", says: /empty: write/ },
  {
    call: `POST ${at}/messages`,
    body: { text: "hi" },
    gives: "400 invalid_request",
    says: /`message`.*|unknown field `text`/,
  },
  {
    call: `POST ${at}/messages`,
    body: { message: "x", delivery: "now" },
    gives: "400 invalid_request",
    says: /`delivery`.*"steer"/,
  },
  {
    call: `POST ${at}/messages`,
    body: { message: "x" },
    headers: { "idempotency-key": "k".repeat(300) },
    gives: "400 invalid_request",
    says: /Idempotency-Key.*256/,
  },
  { call: "POST /v1/sessions/over/messages", body: { message: "x" }, gives: "409 session_ended", says: /over/ },
  {
    call: `POST ${at}/permissions/none/reply`,
    body: { reply: "once" },
    gives: "404 permission_not_found",
    says: /no permission request none/,
  },
  {
    call: `POST ${at}/permissions/none/reply`,
    body: { reply: "maybe" },
    gives: "400 invalid_request",
    says: /`reply`.*"always"/,
  },
  {
    call: `POST ${at}/questions/none/reply`,
    body: { answers: "yes" },
    gives: "400 invalid_request",
    says: /`answers`.*array/,
  },
  { call: `PATCH ${at}`, body: { status: "idle" }, gives: "400 invalid_request", says: /unknown field `status`/ },
  { call: "GET /v1/agents/nobody/models", gives: "400 unsupported_agent", says: /nobody/ },
  { call: "POST /v1/agents/mock/install", gives: "400 not_supported", says: /mock/i },
  { call: "POST /v1/login", body: { code: "guess" }, gives: "401 token_invalid", says: /code.*franca open/s },
  { call: "POST /v1/trust", body: { directory: "/gone/away" }, gives: "400 directory_not_found", says: /\/gone\/away/ },
  { call: "GET /v1/discover", gives: "403 person_only", says: /without a token/ },
  { call: "GET /v1/health?nonce=x", gives: "400 invalid_request", says: /16 to 128/ },
  { call: "GET /v1/sesions", gives: "404 not_found", says: /openapi\.json/ },
  { call: "PUT /v1/sessions", gives: "405 method_not_allowed", says: /takes GET, POST/ },
  {
    call: "GET /v1/sessions",
    headers: { origin: "https://page.example" },
    gives: "403 origin_not_allowed",
    says: /--cors-allow-origin/,
  },
];

describe("the API", () => {
  test.each(api)("$call $body", async ({ call, body, headers = {}, gives, says }) => {
    const [method = "", path = ""] = call.split(" ");
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${daemon.url}${path}`, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    const problem = JSON.parse(await response.text());
    expect(`${response.status} ${problem.code}`).toBe(gives);
    expect(problem.detail).toMatch(says);
  });
});

/** Callers in JavaScript have no compiler: what they may pass is not what the types say. */
const loosely = (value: unknown): never => value as never;
const session = () => connect({ url: daemon.url }).session(SESSION);

const sdk: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    "connect with a text",
    () => connect(loosely("http://127.0.0.1:7717")),
    /connect takes an object of options, not "http/,
  ],
  ["connect with a wrong name", () => connect(loosely({ ulr: "x" })), /no option `ulr`\. It takes url, token/],
  ["connect to a host without a protocol", () => connect({ url: "127.0.0.1:7717" }), /like http:\/\/127\.0\.0\.1:7717/],
  ["connect to a file", () => connect({ url: "file:///tmp" }), /not the address of a daemon/],
  ["connect with a password in the address", () => connect({ url: "http://me:secret@127.0.0.1:1" }), /option `token`/],
  ["connect with an empty token", () => connect({ token: "" }), /`token` must be text that is not empty, or false/],
  ["create with a text", () => connect({ url: daemon.url }).create(loosely("mock")), /create takes an object/],
  ["create with an empty id", () => connect({ url: daemon.url }).create({ id: "" }), /create: `id` must be text/],
  [
    "a session without an id",
    () => connect({ url: daemon.url }).session(loosely(undefined)),
    /id of a session must be text/,
  ],
  ["run nothing", () => session().run(" "), /session\.run: the prompt is empty\. Write what/],
  [
    "run an object",
    () => session().run(loosely({ text: "x" })),
    /session\.run takes the prompt as text, not an object/,
  ],
  [
    "run with a wrong option",
    () => session().run("x", loosely({ timeout: 5 })),
    /session\.run has no option `timeout`/,
  ],
  [
    "follow from before the beginning",
    () => session().events({ after: -1 }),
    /`after`.*whole number, 0 or more, not -1/,
  ],
  [
    "answer a question with a text",
    () => session().replyQuestion("q", loosely("yes")),
    /like \[\["Yes"\]\], not "yes"/,
  ],
];

describe("the SDK", () => {
  test.each(sdk)("%s", async (_name, call, says) => {
    const attempt = async (): Promise<void> => void (await call());
    await expect(attempt()).rejects.toBeInstanceOf(UsageError);
    await expect(attempt()).rejects.toThrow(says);
  });

  test("no daemon, nothing at the address, something else at the address", async () => {
    vi.stubEnv("FRANCA_DATA", "/nowhere");
    await expect(connect().sessions()).rejects.toThrow(/No Franca daemon runs on \/nowhere.*franca daemon start/);
    vi.unstubAllEnvs();
    await expect(connect({ url: "http://127.0.0.1:1" }).sessions()).rejects.toThrow(/franca daemon start/);
    const page = async (): Promise<Response> => new Response("<html>", { status: 404 });
    const elsewhere = connect({ url: "https://page.example", token: false, fetch: page });
    await expect(elsewhere.sessions()).rejects.toThrow(/not as a Franca daemon does\. Check the address/);
  });
});
