/** An agent that serves HTTP: we start its server, wait until it is ready, follow its stream and send it requests. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Exit, Send } from "../../../core/agent-io.ts";
import { assert } from "../../../core/fold.ts";
import type { Launch } from "../../../core/launch.ts";
import { timeoutSignal } from "../../timeout-signal.ts";
import { LINE_LIMIT } from "../lines.ts";
import type { AgentProcess } from "../process.ts";
import { startProcess } from "../process.ts";
import type { Rung } from "../process-tree.ts";
import type { Connection, Opening, Receiver } from "./contract.ts";
import { overlong, parseLine } from "./parse-line.ts";
import { prepareProgram } from "./prepare-program.ts";
import { readServerEvents, type ServerEvent } from "./server-events.ts";

const PASSWORD_BYTES = 32;
const READY_MS = 60_000;
/** The stream is opened before anything is asked, so that nothing is missed. */
const FIRST_STREAM_MS = 15_000;
const REQUEST_MS = 120_000;
const RETRY_FIRST_MS = 100;
const RETRY_LONGEST_MS = 5_000;
/** A server we did not start is given up when its stream cannot be had for this long. */
const GIVE_UP_MS = 30_000;

type HttpLaunch = Extract<Launch, { kind: "http" }>;

interface Server {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly process: AgentProcess | null;
}

export async function openHttp(launch: HttpLaunch, opening: Opening): Promise<Connection> {
  const { receiver } = opening;
  const closing = new AbortController();
  const flow = openFlow();
  const end = (exit: Exit): void => {
    if (closing.signal.aborted) return;
    closing.abort();
    flow.open();
    receiver.receive({ type: "disconnected", exit });
  };
  const server =
    launch.url === undefined
      ? await startServer(launch, opening, end)
      : { url: launch.url, headers: headersOf(launch, null), process: null };
  const { headers } = server;
  const stop = async (rungs?: readonly Rung[]): Promise<void> => {
    if (server.process !== null) await server.process.stop(rungs ?? opening.ladder);
    end({ code: null, signal: null });
  };
  const hearEvent = async (event: ServerEvent): Promise<void> => {
    if (!receiver.receive(event.overlong === null ? parseLine(event.data) : overlong(event.overlong))) flow.close();
    await flow.opened();
  };
  const streaming = new Promise<void>((resolve, reject) => {
    const stream = { url: `${server.url}${launch.events}`, headers, signal: closing.signal };
    const own = server.process !== null;
    void followStream({ stream, own, onOpen: resolve, onEvent: hearEvent }).then((message) => {
      reject(new Error(message));
      end({ code: null, signal: null, message, error_code: "stream_error" });
    });
  });
  try {
    await Promise.race([streaming, timeout(FIRST_STREAM_MS, `${server.url}${launch.events} did not answer.`)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    perform: (send, asker = receiver) => void perform({ send, server, headers, asker, signal: closing.signal, stop }),
    resume: flow.open,
    stop,
    address: { url: server.url, headers },
  };
}

function headersOf({ login }: HttpLaunch, made: string | null): Readonly<Record<string, string>> {
  if (login === undefined) return {};
  const password = typeof login.password === "string" ? login.password : made;
  const pair = Buffer.from(`${login.user}:${password}`, "utf8");
  return { authorization: `Basic ${pair.toString("base64")}` };
}

/** Anybody on this machine can connect to the server's port, so only we know its password. */
function secretOf({ login }: HttpLaunch): { password: string; environment: Readonly<Record<string, string>> } {
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  if (login === undefined || typeof login.password === "string") return { password, environment: {} };
  return { password, environment: { [login.password.variable]: password } };
}

/** A port that nobody has now, chosen by the system: a fixed one is known to others beforehand. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", resolve);
  });
  const address = probe.address();
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  assert(address !== null && typeof address !== "string", "a listening server has a port");
  return address.port;
}

/** Resolves with the server's address as soon as a line of its output gives it. */
async function startServer(launch: HttpLaunch, opening: Opening, end: (exit: Exit) => void): Promise<Server> {
  const { session, runs, ladder, logger } = opening;
  const runId = await runs.begin(session);
  const pattern = new RegExp(launch.ready);
  const { password, environment: secret } = secretOf(launch);
  const prepare = async () =>
    prepareProgram(launch, opening, { runId, environment: secret, port: String(await freePort()) });
  const program = await prepare().catch((error: unknown) => {
    runs.ended(runId);
    throw error;
  });
  let agent: AgentProcess | null = null;
  const ready = new Promise<string>((resolve, reject) => {
    agent = startProcess({
      ...program,
      onText(text) {
        for (const line of text.split("\n")) {
          const match = pattern.exec(line);
          if (match !== null) resolve((match[1] ?? line).replace(/\/$/, ""));
        }
      },
      onOverlong: () => {},
      onExit(exit) {
        runs.ended(runId);
        logger.info("process.exited", { session, pid: agent?.pid, code: exit.code, signal: exit.signal });
        reject(new ServerExit(exit));
        end(exit);
      },
      onStuck: (pids) => logger.error("process.stuck", { session, pids }),
    });
    const { pid, started } = agent;
    if (pid !== null && started !== null) runs.started(runId, { pid, started });
  });
  try {
    const url = await Promise.race([ready, timeout(READY_MS, `${launch.command} did not say that it is ready.`)]);
    return { url, headers: headersOf(launch, password), process: agent };
  } catch (error) {
    await stopProcess(agent, ladder);
    throw error;
  }
}

const stopProcess = async (agent: AgentProcess | null, ladder: readonly Rung[]): Promise<void> => agent?.stop(ladder);

/** The server ended before it was ready. */
export class ServerExit extends Error {
  override readonly name = "ServerExit";
  readonly exit: Exit;

  constructor(exit: Exit) {
    super(exit.message ?? "The agent's server ended before it was ready.");
    this.exit = exit;
  }
}

interface Following {
  readonly stream: { readonly url: string; readonly headers: Readonly<Record<string, string>>; signal: AbortSignal };
  /** We started the server: its exit will be reported, so we try for as long as it lives. */
  readonly own: boolean;
  readonly onOpen: () => void;
  readonly onEvent: (event: ServerEvent) => Promise<void>;
}

/** Follows the stream and connects again when it breaks. Resolves with a reason when there is no use in going on. */
async function followStream({ stream, own, onOpen, onEvent }: Following): Promise<string> {
  let lastEventId: string | null = null;
  let failures = 0;
  let aliveAt = performance.now();
  let reason = "The stream was closed.";
  while (!stream.signal.aborted) {
    try {
      for await (const event of readServerEvents({ ...stream, lastEventId, onOpen })) {
        failures = 0;
        aliveAt = performance.now();
        lastEventId = event.id ?? lastEventId;
        await onEvent(event);
      }
    } catch (error) {
      reason = `${stream.url} could not be followed: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (!own && performance.now() - aliveAt > GIVE_UP_MS) return reason;
    const delay = Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_LONGEST_MS);
    failures += 1;
    await sleep(delay, undefined, { signal: stream.signal }).catch(() => {});
  }
  return reason;
}

interface Performing {
  readonly send: Send;
  readonly server: Server;
  readonly headers: Readonly<Record<string, string>>;
  readonly asker: Receiver;
  readonly signal: AbortSignal;
  readonly stop: (rungs?: readonly Rung[]) => Promise<void>;
}

async function perform({ send, server, headers, asker, signal, stop }: Performing): Promise<void> {
  if (send.type === "send.signal" || send.type === "send.close") {
    await stop();
    return;
  }
  if (send.type !== "send.request") return;
  const { id, method, path, body } = send;
  const answer = await request(`${server.url}${path}`, {
    method,
    headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
    signal: timeoutSignal({ signal, ms: REQUEST_MS }),
  });
  if (!signal.aborted) asker.receive({ type: "response", id, ...answer });
}

/** Status 0: it could not be sent, or its answer could not be read. */
async function request(url: string, init: RequestInit): Promise<{ status: number; body: unknown }> {
  try {
    const response = await fetch(url, init);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > LINE_LIMIT) throw new Error(`The answer is longer than ${LINE_LIMIT} bytes.`);
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString("utf8");
    const heard = parseLine(text);
    return { status: response.status, body: heard.type === "line" ? heard.value : text };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { status: 0, body: { message: cause instanceof Error ? cause.message : String(cause) } };
  }
}

function timeout(ms: number, message: string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${message} Waited ${ms} ms.`)), ms).unref();
  });
}

/** A gate that the receiver closes when it is behind. */
function openFlow(): { open: () => void; close: () => void; opened: () => Promise<void> } {
  let waiting: (() => void)[] | null = null;
  return {
    close() {
      waiting ??= [];
    },
    open() {
      const released = waiting ?? [];
      waiting = null;
      for (const resolve of released) resolve();
    },
    opened: () => (waiting === null ? Promise.resolve() : new Promise((resolve) => waiting?.push(resolve))),
  };
}
