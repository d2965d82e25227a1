/** Real answers of a daemon, one for each operation of the API, with what differs from run to run replaced. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { routes } from "../../src/server/api/index.ts";
import { startDaemon } from "./daemon.ts";
import { recordedHome, sessionFileRecordings } from "./session-files.ts";

export interface RecordedExamples {
  readonly operations: Record<string, { request?: unknown; response?: unknown }>;
  readonly problems: Record<string, unknown>;
}

const TOKEN = "a-token-for-examples";
const ID = "hello";

/** Calls by the id of their operation, in an order in which each of them succeeds. */
interface Exchange {
  readonly id: string;
  /** After the operation's path. */
  readonly query?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: object;
}

export async function recordExamples(): Promise<RecordedExamples> {
  // The same on every machine, with bubblewrap or without.
  const daemon = await startDaemon({ token: TOKEN, hideData: "off" });
  const examples: RecordedExamples = { operations: {}, problems: {} };
  const authorization = `Bearer ${TOKEN}`;

  const send = async (
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = { authorization },
  ) => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${daemon.url}${path}`, { method: method.toUpperCase(), headers, ...text });
    return { response, text: await response.text() };
  };
  const record = async ({ id, query = "", params = {}, body }: Exchange): Promise<unknown> => {
    const route = routes.find(({ doc }) => doc.id === id);
    if (route === undefined) throw new Error(`There is no operation ${id}.`);
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ID));
    const { response, text } = await send(route.method, `${path}${query}`, body);
    expect({ id, ok: response.ok, text }).toMatchObject({ ok: true });
    const answer = answerIn(text, route.doc.answers);
    const response_ = answer === undefined ? {} : { response: settle(shorten(answer), daemon.directory) };
    examples.operations[id] = {
      ...(body === undefined ? {} : { request: settle(body, daemon.directory) }),
      ...response_,
    };
    return answer;
  };

  await record({ id: "createSession", body: { agent: "mock", directory: daemon.directory, title: "Hello" } });
  await record({ id: "createAnySession", body: { agent: "mock", directory: daemon.directory } });
  await record({ id: "streamMessage", body: { message: "tool" } });
  await record({ id: "usage", query: "?by=agent" });
  await record({ id: "getSession", query: "?limit=2" });
  await record({ id: "listSessions", query: "?limit=1" });
  await record({ id: "updateSession", body: { title: "A better title" } });
  await record({ id: "listEvents", query: "?offset=1&limit=2" });
  await record({ id: "listNative", query: "?limit=1" });
  await record({ id: "forkSession", body: { sessionId: "hello-again" } });
  for (const [id, prompt, list] of [
    ["replyPermission", "permission", "pendingPermissions"],
    ["replyQuestion", "question", "pendingQuestions"],
    ["rejectQuestion", "question", "pendingQuestions"],
  ] as const) {
    await record({ id: "sendMessage", body: { message: prompt } });
    const session = daemon.client.session(ID);
    const [request] = await vi.waitUntil(
      async () => {
        const open = (await session.get())[list];
        return open.length > 0 ? open : null;
      },
      { timeout: 20_000 },
    );
    const params = {
      permissionId: request !== undefined && "permission_id" in request ? request.permission_id : "",
      questionId: request !== undefined && "question_id" in request ? request.question_id : "",
    };
    const bodies = {
      replyPermission: { reply: "once" },
      replyQuestion: { answers: [["Red"], ["Yes"]] },
      rejectQuestion: { message: "Decide yourself." },
    };
    await record({ id, params, body: bodies[id] });
    await record({ id: "abortSession", body: { clearQueue: true } });
    await vi.waitUntil(async () => (await session.status()) === "idle", { timeout: 20_000 });
  }
  await record({ id: "sendMessage", body: { message: "echo Hello, world" } });
  await record({ id: "listMissingKeys" });
  await daemon.client.create({ id: "with-keys", agent: "builtin", directory: daemon.directory });
  await record({ id: "giveKeys", params: { id: "with-keys" }, body: { keys: { OPENAI_API_KEY: "a-key-of-yours" } } });
  await record({ id: "mcp", body: { jsonrpc: "2.0", id: 1, method: "initialize", params: {} } });
  await record({ id: "listAgents" });
  await record({ id: "listModels", params: { agent: "mock" } });
  await record({ id: "listModes", params: { agent: "mock" } });
  await record({ id: "listHosts" });
  // These succeed only where hosts share a log on Postgres.
  examples.operations.moveSession = { request: { host: "2f6d1c1e-6f8a-4a55-8f57-0a4f7f0f2b11" } };
  await record({ id: "addTrust", body: { directory: daemon.directory, force: true } });
  await record({ id: "listTrust", query: `?directory=${encodeURIComponent(daemon.directory)}` });
  await record({ id: "diffSession" });
  await daemon.client.create({ id: "apart", agent: "mock", directory: repositoryIn(daemon.directory), worktree: true });
  await record({ id: "listWorktrees" });
  await record({ id: "removeWorktree", params: { id: "apart" } });
  const recording = sessionFileRecordings.find(({ name }) => name === "claude/plain");
  if (recording === undefined) throw new Error("There is no recording claude/plain.");
  const { home, remove } = recordedHome(recording);
  vi.stubEnv("HOME", home);
  await record({ id: "discover", query: "?agent=claude" });
  await record({ id: "adopt", body: { agent: "claude", nativeSessionId: "5e551011-0000-4000-8000-000000000001" } });
  vi.unstubAllEnvs();
  remove();
  const hook = { url: "https://ci.example.com/hooks/franca", events: ["turn.ended"], secretVariable: "CI_SECRET" };
  await record({ id: "putWebhook", params: { name: "ci" }, body: hook });
  await record({ id: "listWebhooks" });
  await record({ id: "listDeadLetters", params: { name: "ci" } });
  await record({ id: "retryWebhook", params: { name: "ci" }, body: {} });
  const made = await record({ id: "makeLoginCode" });
  const code = typeof made === "object" && made !== null && "code" in made ? String(made.code) : "";
  await record({ id: "login", body: { code } });
  await record({ id: "health", query: "?nonce=0123456789abcdef" });

  const problems: readonly [string, string, object | undefined, Record<string, string>?][] = [
    ["post", "/v1/sessions", { agent: "mock", colour: "red" }],
    ["post", "/v1/sessions", { agent: "nobody" }],
    ["get", "/v1/sessions", undefined, {}],
    ["get", "/v1/sessions", undefined, { authorization, origin: "https://page.example" }],
    ["get", "/v1/sessions/none", undefined],
    ["post", "/v1/sessions/hello", { agent: "mock" }],
    ["post", "/v1/sessions/hello/permissions/none/reply", { reply: "once" }],
    ["post", "/v1/sessions/hello/questions/none/reply", { answers: [["Yes"]] }],
  ];
  for (const [method, path, body, headers] of problems) {
    const { text } = await send(method, path, body, headers);
    const problem = JSON.parse(text);
    examples.problems[problem.code] = settle(problem, daemon.directory);
  }
  return examples;
}

/** With one commit. */
function repositoryIn(folder: string): string {
  const repository = join(folder, "repository");
  mkdirSync(repository);
  const commit = ["commit", "-q", "--allow-empty", "-m", "first"];
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
  for (const args of [
    ["init", "-q"],
    [...identity, ...commit],
  ])
    execFileSync("git", args, { cwd: repository });
  return repository;
}

/** Of a stream, the first event. */
function answerIn(text: string, kind: string): unknown {
  if (kind === "empty") return undefined;
  if (kind === "json") return JSON.parse(text);
  const [, data = "null"] = /^data: (.*)$/m.exec(text) ?? [];
  return JSON.parse(data);
}

/** Lists of what the machine has: the mock is everywhere. */
function shorten(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null) return answer;
  if ("agents" in answer && Array.isArray(answer.agents)) {
    return { ...answer, agents: answer.agents.filter(({ id }) => id === "mock") };
  }
  if ("folders" in answer && Array.isArray(answer.folders)) return { ...answer, folders: answer.folders.slice(-1) };
  return answer;
}

const FIXED: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "2026-11-16T09:30:00.000Z"],
  [/"timeMs":\d+/g, '"timeMs":1200'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "1c5d5f0e-52a3-4b52-9c3c-0d7b9b1e6a11"],
  [/"path":"[^"]*\/franca-worktrees-[^/"]+\//g, '"path":"/home/me/.local/share/franca-worktrees/'],
  [/"base":"[0-9a-f]{40}"/g, `"base":"${"1c5d5f0e52".repeat(4)}"`],
  [/"(code|credential)":"[\w-]{20,}"/g, '"$1":"Q2hhbmdlIG1lLCBJIGFtIGFuIGV4YW1wbGU"'],
  [/"port":\d+,"proof":"[0-9a-f]{64}"/g, `"port":7717,"proof":"${"5e".repeat(32)}"`],
  [/"(opencodeId)":"ses_\w+"/g, '"$1":"ses_3f6b8c1d2ffeXk2mZb9QwLr4Ty"'],
  [/"nextCursor":"[^"]+"/g, '"nextCursor":"MjAyNi0xMS0xNg"'],
];

function settle(value: unknown, directory: string): unknown {
  let text = JSON.stringify(value).replaceAll(directory, "/home/me/project");
  for (const [pattern, replacement] of FIXED) text = text.replaceAll(pattern, replacement);
  return JSON.parse(text);
}
