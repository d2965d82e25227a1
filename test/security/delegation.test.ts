/**
 * What an agent may do that was given the credential of its session: ask its own descendants, and nothing else. Each
 * test is an attack; the tools are called as the endpoint calls them.
 */
import { mkdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { mock } from "../../src/adapters/mock/index.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { OWNER } from "../../src/server/credentials/access.ts";
import { type Credentials, openCredentials } from "../../src/server/credentials/store.ts";
import { callerOf } from "../../src/server/http/auth.ts";
import { type Authority, authorityOf, openScopes } from "../../src/server/mcp/authority.ts";
import { serveDelegate } from "../../src/server/mcp/delegate.ts";
import type { ToolResult } from "../../src/server/mcp/result.ts";
import { describeTools, findTool } from "../../src/server/mcp/tools.ts";
import { open, removeFolder, session, tempFolder, until } from "../support/sessions.ts";

const asksNobody: Adapter = { ...mock, agent: "silent", capabilities: { ...mock.capabilities, permissions: false } };
const agent: Adapter = { ...mock, capabilities: { ...mock.capabilities, mcp: true } };

let folder: string;
let sessions: Sessions;
let credentials: Credentials;
let over: AbortController;
/** The secrets that agents were given, by session. */
const secrets = new Map<SessionId, string>();

beforeEach(async () => {
  folder = tempFolder();
  secrets.clear();
  over = new AbortController();
  credentials = openCredentials({ folder: null, signal: over.signal });
  const serve = serveDelegate({ url: null }, credentials);
  sessions = await open(null, {
    adapters: [agent, asksNobody],
    serveDelegate: (id) => {
      const made = serve(id);
      const { env } = z.object({ env: z.record(z.string(), z.string()) }).parse(made.server);
      secrets.set(id, env.FRANCA_SESSION_CREDENTIAL ?? "");
      return made;
    },
  });
});
afterEach(async () => {
  await sessions.close();
  over.abort();
  removeFolder(folder);
});

/** A session in the middle of a turn, and what its agent may do. */
async function parent(name: string, options: Partial<CreateSession> = {}): Promise<Authority> {
  const id = session(name);
  await sessions.create(id, { agent: "mock", directory: folder, delegate: true, ...options });
  await sessions.prompt(id, { text: "question" });
  await until(sessions, id, { type: "question.requested" });
  return authorityWith(secrets.get(id));
}

const authorityWith = (secret: string | undefined, { wantsAll = false } = {}): Authority =>
  authorityOf({
    sessions,
    caller: callerOf(`Bearer ${secret}`, { token: "the-token", credentials }),
    wantsAll,
    scope: undefined,
    scopes: openScopes(),
    directory: undefined,
  });

function call(authority: Authority, name: string, input: object): Promise<ToolResult> {
  const tool = findTool(authority, name);
  if (tool === null) return Promise.resolve({ content: [{ type: "text", text: "no such tool" }], isError: true });
  const signal = new AbortController().signal;
  const asking = { sessions, defaultAgent: "mock", authority, progress: () => {}, signal };
  return tool.call(asking, input).catch((error: unknown) => ({
    content: [{ type: "text" as const, text: error instanceof Error ? error.message : String(error) }],
    isError: true,
  }));
}

const refused = (says: RegExp) => ({
  isError: true,
  content: [{ type: "text", text: expect.stringMatching(says) }],
});

test("it asks, and continues what it has started", async () => {
  const authority = await parent("root");
  const first = await call(authority, "ask", { agent: "mock", prompt: "echo hello" });
  expect(first).toMatchObject({ isError: false, structuredContent: { answer: "hello", reason: "completed" } });
  const child = String(first.structuredContent?.session);
  expect(await sessions.get(session(child))).toMatchObject({ directory: folder, permissionMode: "default" });
  expect(await call(authority, "ask", { session: child, prompt: "echo again" })).toMatchObject({ isError: false });
  expect((await call(authority, "read", { session: child })).content[0]?.text).toContain("again");
  expect((await call(authority, "sessions", {})).structuredContent).toMatchObject({ sessions: [{ session: child }] });
});

test("a looser permission mode is refused, and so is an agent that never asks", async () => {
  const plan = await parent("plan", { permissionMode: "plan" });
  for (const permissionMode of ["default", "acceptEdits", "bypass"]) {
    const answer = await call(plan, "ask", { agent: "mock", prompt: "x", permissionMode });
    expect(answer).toMatchObject(refused(/looser than this session's own \(plan\)/));
  }
  const usual = await parent("usual");
  expect(await call(usual, "ask", { agent: "mock", prompt: "x", permissionMode: "bypass" })).toMatchObject(
    refused(/bypass is looser than this session's own/),
  );
  expect(await call(usual, "ask", { agent: "silent", prompt: "x" })).toMatchObject(
    refused(/never asks for permission/),
  );
});

test("a child that was started with more rights gets no prompt when its parent has lost them", async () => {
  const authority = await parent("root", { permissionMode: "bypass" });
  const made = await call(authority, "ask", { agent: "mock", prompt: "echo x", permissionMode: "bypass" });
  await sessions.update(session("root"), { permissionMode: "plan" });
  const again = await call(authority, "ask", { session: made.structuredContent?.session, prompt: "echo y" });
  expect(again).toMatchObject(refused(/looser than this session's own/));
});

test("it passes no environment, address, MCP server, trust, budget or rule", async () => {
  const authority = await parent("root");
  for (const field of [
    "env",
    "baseUrl",
    "base_url",
    "mcp",
    "trust",
    "budget",
    "permissionRules",
    "unattended",
    "delegate",
    "parentId",
    "systemPrompt",
  ]) {
    const answer = await call(authority, "ask", { agent: "mock", prompt: "x", [field]: {} });
    expect(answer).toMatchObject(refused(new RegExp(`unknown field \`${field}\``)));
  }
});

test("it stays in its folder, also by links", async () => {
  const authority = await parent("root");
  mkdirSync(join(folder, "inside"));
  symlinkSync(tmpdir(), join(folder, "way-out"));
  const inside = await call(authority, "ask", { agent: "mock", prompt: "echo x", directory: "inside" });
  expect(inside.isError).toBe(false);
  for (const directory of ["/", "..", join(folder, "way-out"), "inside/../..", "/root"]) {
    const answer = await call(authority, "ask", { agent: "mock", prompt: "echo x", directory });
    expect(answer).toMatchObject(refused(/is not inside this session's own|does not exist/));
  }
});

test("a session of somebody else is not read, prompted, aborted or listed, nor told from one that does not exist", async () => {
  const authority = await parent("root");
  await parent("other");
  await sessions.create(session("alone"), { agent: "mock", directory: folder, parentId: "root" });
  for (const id of ["other", "root", "alone", "missing"]) {
    for (const [tool, input] of [
      ["read", {}],
      ["abort", {}],
      ["ask", { prompt: "echo x" }],
    ] as const) {
      const says = new RegExp(`There is no session ${id} that this session has started`);
      expect(await call(authority, tool, { session: id, ...input })).toMatchObject(refused(says));
    }
  }
  expect((await call(authority, "sessions", {})).structuredContent).toEqual({ sessions: [] });
});

test("it answers no request: there is no tool for it, and the person's rights are not to be had", async () => {
  const authority = await parent("root");
  expect(describeTools(authority).map(({ name }) => name)).toEqual(["agents", "ask", "sessions", "read", "abort"]);
  const { pendingQuestions } = await sessions.get(session("root"));
  const request = pendingQuestions[0]?.question_id;
  const answer = await call(authority, "answer", { session: "root", request, answers: [["Red"]] });
  expect(answer).toMatchObject(refused(/no such tool/));
  expect(() => authorityWith(secrets.get(session("root")), { wantsAll: true })).toThrow(/owner.s token/);
});

test("requests of a child surface at the root, and the answer there is the child's", async () => {
  const authority = await parent("root");
  const asked = call(authority, "ask", { agent: "mock", prompt: "permission" });
  const isRelayed = (one: { metadata: Record<string, unknown> }): boolean => one.metadata.delegate !== undefined;
  const relayed = async () => (await sessions.get(session("root"))).pendingPermissions.find(isRelayed);
  // The scenario asks twice.
  for (const action of ["bash", "edit"]) {
    await expect.poll(async () => (await relayed())?.action, { timeout: 20_000 }).toBe(action);
    const request = await relayed();
    expect(request).toMatchObject({ metadata: { delegate: { agent: "mock" }, call_id: null } });
    await sessions.replyPermission(session("root"), request?.permission_id ?? "", { reply: "once" });
  }
  expect(await asked).toMatchObject({ isError: false, structuredContent: { reason: "completed" } });
});

test("two levels deep and four at once, and not after the turn is over", async () => {
  const authority = await parent("root");
  const waiting = Array.from({ length: 4 }, () => call(authority, "ask", { agent: "mock", prompt: "permission" }));
  await expect.poll(async () => (await authority.list()).length, { timeout: 20_000 }).toBe(4);
  expect(await call(authority, "ask", { agent: "mock", prompt: "echo x" })).toMatchObject(refused(/4 at once/));
  const [child] = await authority.list();
  await until(sessions, session(child?.sessionId ?? ""), { type: "permission.requested" });
  const below = authorityWith(secrets.get(session(child?.sessionId ?? "")));
  const second = await call(below, "ask", { agent: "mock", prompt: "echo deep" });
  expect(second).toMatchObject({ isError: false });
  const grandchild = String(second.structuredContent?.session);
  expect(secrets.has(session(grandchild))).toBe(false);
  await expect(sessions.delegates.start(session(grandchild), { agent: "mock" })).rejects.toThrow(/2 levels deep/);
  await sessions.abort(session("root"), { clearQueue: true });
  for (const answer of await Promise.all(waiting)) expect(answer.isError).toBe(true);
  await until(sessions, session("root"), { type: "turn.ended" });
  expect(await call(authority, "ask", { agent: "mock", prompt: "echo x" })).toMatchObject(refused(/own turn runs/));
});

test("a credential is nobody's after its session has ended, and a session without delegation has none", async () => {
  await parent("root");
  const secret = secrets.get(session("root")) ?? "";
  expect(credentials.find(secret)?.credential).toMatchObject({
    kind: "delegation",
    surface: "mcp",
    sessions: ["root"],
  });
  await sessions.terminate(session("root"));
  expect(credentials.find(secret)).toBeNull();
  await sessions.create(session("plain"), { agent: "mock", directory: folder });
  expect(secrets.has(session("plain"))).toBe(false);
});

test("a client with the token and no more uses only what it has started, in no looser mode", async () => {
  const scopes = openScopes();
  const client = (scope: string): Authority =>
    authorityOf({ sessions, caller: OWNER, wantsAll: false, scope, scopes, directory: folder });
  const made = await call(client("a"), "ask", { agent: "mock", prompt: "echo hi" });
  const id = made.structuredContent?.session;
  expect(await call(client("a"), "read", { session: id })).toMatchObject({ content: [{ type: "text" }] });
  expect(await call(client("b"), "read", { session: id })).toMatchObject(refused(/no session/));
  expect(await call(client("a"), "ask", { prompt: "x", permissionMode: "bypass" })).toMatchObject(refused(/--full/));
  expect(await call(client("a"), "ask", { prompt: "x", directory: "/" })).toMatchObject(refused(/--full/));
});
