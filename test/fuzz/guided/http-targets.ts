/**
 * Requests to /v1 and /opencode, handed to the real server without a socket. Each line is a request; `{id}` in its path
 * is a session of the mock agent, which is the only agent there is: nothing that a request names is started.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { IncomingMessage, type Server, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock } from "../../../src/adapters/mock/index.ts";
import { isShape } from "../../../src/dialects/shape.ts";
import { createMock } from "../../../src/mock/index.ts";
import { openCodeSessionId } from "../../../src/projections/opencode/index.ts";
import { sessionId } from "../../../src/protocol/ids.ts";
import { openBackground } from "../../../src/runtime/background.ts";
import { type Logger, silentLogger } from "../../../src/runtime/logger.ts";
import type { Sessions } from "../../../src/runtime/session/contract.ts";
import { openSessions } from "../../../src/runtime/session/sessions.ts";
import examples from "../../../src/server/api/examples.json" with { type: "json" };
import { routes } from "../../../src/server/api/index.ts";
import { openCredentials } from "../../../src/server/credentials/store.ts";
import { openFollowers } from "../../../src/server/followers.ts";
import { createHttpServer } from "../../../src/server/http/server.ts";
import { openMetrics } from "../../../src/server/metrics.ts";
import { openCodeSurface } from "../../../src/server/opencode/index.ts";
import { operations } from "../../../src/server/opencode/operations.ts";
import type { Target } from "./attempt.ts";
import { readJson } from "./json-edits.ts";

/** These run what they are given, read the home folder, send elsewhere, or answer when something else happens. */
const LEFT_OUT = /shell|pty|install|discover|adopt|trust|webhook|worktree|mcp|control\/next|upgrade|dispose/;

/** A request that is not answered by then waits for something that will not happen; its client leaves. */
const PATIENCE_MS = 300;

interface Daemon {
  readonly server: Server;
  readonly sessions: Sessions;
  readonly directory: string;
  /** What was logged as a bug of ours. */
  readonly bugs: unknown[];
  readonly close: () => Promise<void>;
}

async function openDaemon(): Promise<Daemon> {
  const directory = mkdtempSync(join(tmpdir(), "franca-fuzz-"));
  // Whatever a request makes the server do, it finds no program, no home and no project of this machine's user.
  Object.assign(process.env, {
    PATH: directory,
    HOME: directory,
    XDG_DATA_HOME: directory,
    XDG_CONFIG_HOME: directory,
  });
  process.chdir(directory);
  const bugs: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (name, fields) => void (name === "request.failed" && bugs.push(isShape(fields) ? fields.error : fields)),
  };
  const sessions = await openSessions({
    adapters: [mock],
    inProcess: { mock: createMock({ delayMs: 0 }) },
    logger,
    store: { kind: "memory" },
    toolsFolder: directory,
    role: "daemon",
    version: "0.0.0",
    directory,
    defaultAgent: () => "mock",
    trustedFolders: [directory],
  });
  const stopped = new AbortController();
  const background = openBackground({ logger });
  const { webhooks, close } = await openFollowers({}, { sessions, logger, background, folder: null });
  const credentials = openCredentials({ folder: null, signal: stopped.signal });
  const { metrics, task } = openMetrics({ sessions, background, signal: stopped.signal, clients: () => 0 });
  const { server } = createHttpServer({
    door: { host: "127.0.0.1", token: null, credentials, corsOrigins: [] },
    context: {
      sessions,
      metrics,
      background,
      webhooks,
      credentials,
      hostCalls: null,
      prove: () => ({ port: 1, proof: null }),
      attachments: directory,
      logger,
      version: "0.0.0",
      defaultAgent: "mock",
      maxBodyBytes: 1_000_000,
      heartbeatMs: 60_000,
      stopped: stopped.signal,
    },
    routes: routes.filter(({ path }) => !LEFT_OUT.test(path)),
    surfaces: [openCodeSurface({ attachments: directory })],
  });
  return {
    server,
    sessions,
    directory,
    bugs,
    async close() {
      await close();
      await sessions.close();
      stopped.abort();
      await task.ended();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

/** The status, or null when the client left before there was one. */
async function ask({ server }: Daemon, { method, url, body }: Asked): Promise<number | null> {
  const socket = new Socket();
  Object.assign(socket, { _write: (_bytes: Buffer, _encoding: string, done: () => void) => done(), _writev: null });
  const incoming = new IncomingMessage(socket);
  const headers = { host: "127.0.0.1:1", "content-type": "application/json" };
  Object.assign(incoming, { method, url, headers });
  incoming.push(Buffer.from(body));
  incoming.push(null);
  const outgoing = new ServerResponse(incoming);
  outgoing.assignSocket(socket);
  server.emit("request", incoming, outgoing);
  const until = performance.now() + PATIENCE_MS;
  const isStream = (): boolean => String(outgoing.getHeader("content-type") ?? "").includes("event-stream");
  while (!outgoing.writableFinished && performance.now() < until && !(outgoing.headersSent && isStream())) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const answered = outgoing.headersSent ? outgoing.statusCode : null;
  outgoing.destroy();
  socket.destroy();
  return answered;
}

const NAME = "fuzzed";

function requestsIn(input: Buffer, { directory }: Daemon): Asked[] {
  return input
    .toString("utf8")
    .split("\n")
    .flatMap((line) => {
      const value = readJson(line)?.value;
      if (!isShape(value) || typeof value.to !== "string") return [];
      const [method = "", path = ""] = value.to.split(" ");
      if (LEFT_OUT.test(decodeURI(path.replaceAll("%", "%25")))) return [];
      const url = path
        .replaceAll("{directory}", directory)
        .replaceAll("{id}", NAME)
        .replaceAll("{sessionID}", openCodeSessionId(sessionId(NAME)));
      const body = typeof value.body === "string" ? value.body : (JSON.stringify(value.body) ?? "");
      return [{ method, url: url.replaceAll(/[^\x21-\x7e]/g, ""), body: body.replaceAll("{directory}", directory) }];
    });
}

async function runRequests(daemon: Daemon, input: Buffer): Promise<void> {
  const { sessions, directory, bugs } = daemon;
  await sessions.create(sessionId(NAME), { agent: "mock", directory }).catch(() => {});
  for (const asked of [...requestsIn(input, daemon), { method: "GET", url: "/v1/health", body: "" }]) {
    bugs.length = 0;
    const status = await ask(daemon, asked);
    const where = `${asked.method} ${asked.url.split("?")[0]}`;
    if (status === 500 || bugs.length > 0) throw new Error(`${where} answers ${status}`, { cause: bugs[0] });
    if (asked.url === "/v1/health" && status !== 200) throw new Error(`not healthy: ${status}`);
  }
  const { sessions: left } = await sessions.list();
  for (const one of left) await sessions.delete(sessionId(one.sessionId)).catch(() => {});
}

/** What operations of the API are given in its documentation. */
const given = new Map<string, unknown>(
  Object.entries(examples.operations).map(([id, example]) => [id, "request" in example ? example.request : {}]),
);

const line = (to: string, body: unknown): string =>
  JSON.stringify({ to, body }).replaceAll("/home/me/project", "{directory}");

const v1Seeds = (): Buffer[] =>
  routes
    .filter(({ path }) => !LEFT_OUT.test(path))
    .map(({ method, path, doc }) =>
      Buffer.from(line(`${method.toUpperCase()} ${filled(path)}`, given.get(doc.id) ?? {})),
    );

/** Names of what may be there; a session keeps its place in the path. */
const filled = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    /^(id|sessionID)$/.test(name) ? whole : (NAMES[name] ?? "p"),
  );

const NAMES: Readonly<Record<string, string>> = {
  agent: "mock",
  messageID: "msg_1",
  partID: "prt_1",
  permissionID: "per_1",
  requestID: "per_1",
  providerID: "mock",
};

/** What OpenCode's clients send. */
const OPENCODE_BODIES: readonly (readonly [to: RegExp, body: unknown])[] = [
  [
    /^POST \/session$/,
    { title: "x", parentID: "ses_1", permission: [{ permission: "bash", pattern: "*", action: "ask" }] },
  ],
  [/^PATCH \/session\/\{sessionID\}$/, { title: "y", time: { archived: 1 } }],
  [
    /\/(message|prompt_async)$/,
    {
      messageID: "msg_1",
      model: { providerID: "mock", modelID: "mock" },
      agent: "build",
      system: "s",
      tools: { bash: false },
      parts: [
        { type: "text", text: "tool", synthetic: true },
        { type: "file", mime: "text/plain", filename: "a.txt", url: "data:text/plain;base64,YQ==" },
        { type: "agent", name: "a" },
      ],
    },
  ],
  [/\/command$/, { command: "init", arguments: "a b", agent: "build", model: "mock/mock" }],
  [/\/summarize$/, { providerID: "mock", modelID: "mock", auto: false }],
  [/\/(revert|revert\/stage|fork)$/, { messageID: "msg_1", partID: "prt_1" }],
  [/\/permissions?\/\{\w+\}(\/reply)?$/, { response: "once", reply: "once", message: "m" }],
  [/\/question\/\{\w+\}\/reply$/, { answers: [["yes"], []] }],
  [/^POST \/api\/session$/, { title: "x", location: { directory: "{directory}" } }],
  [/\/api\/session\/\{sessionID\}\/prompt$/, { prompt: { text: "tool", files: [], agents: [] }, delivery: "steer" }],
  [/\/model$/, { model: { providerID: "mock", id: "mock", variant: "high" } }],
  [
    /\/tui\//,
    { text: "x", command: "agent.cycle", title: "t", message: "m", variant: "info", sessionID: "{sessionID}" },
  ],
];

const openCodeSeeds = (): Buffer[] =>
  operations
    .filter((operation) => !LEFT_OUT.test(operation))
    .map((operation) => {
      const body = OPENCODE_BODIES.find(([to]) => to.test(operation))?.[1] ?? {};
      const [method = "", path = ""] = operation.split(" ");
      return Buffer.from(line(`${method} /opencode${filled(path)}?directory={directory}`, body));
    });

async function requestTarget(name: string, seeds: () => readonly Buffer[]): Promise<Target> {
  const daemon = await openDaemon();
  return {
    name,
    watches: (path) => path.startsWith("src/server/") || path.startsWith("src/runtime/session/"),
    form: "lines",
    batch: 8,
    seeds,
    run: { kind: "async", once: (input) => runRequests(daemon, input) },
    isBusy: true,
    close: daemon.close,
  };
}

export const requestTargets = {
  "requests:v1": () => requestTarget("requests:v1", v1Seeds),
  "requests:opencode": () => requestTarget("requests:opencode", openCodeSeeds),
} as const;
