/** The HTTP under every scripted model server: loopback only, any free port, all connections ended on close. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ModelRequest, type Play, play, type RecordedRequest, type Script, type ScriptTurn } from "./script.ts";

/** What one provider's wire format adds. */
export interface Wire {
  /** Reads the request, or says that the path is none of a model call (then `other` answers). */
  readonly read: (request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  }) => ModelRequest | null;
  /** Answers one model call. `signal` fires when the caller or the server goes away. */
  readonly answer: (call: {
    readonly turn: ScriptTurn;
    readonly recorded: RecordedRequest;
    readonly response: ServerResponse;
    readonly signal: AbortSignal;
  }) => Promise<void>;
  readonly other: (request: { readonly method: string; readonly path: string }) => { status: number; body: unknown };
}

export interface ModelServer {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** Resolves when this many requests (of that conversation, when named) have arrived. */
  readonly received: (count: number, options: { conversation?: string; signal: AbortSignal }) => Promise<void>;
  /** Plays another script from now on; what was received stays. */
  readonly load: (script: Script) => void;
  readonly close: () => Promise<void>;
}

const BODY_LIMIT = 64 * 1024 * 1024;

export async function serveModel(wire: Wire, script: Script): Promise<ModelServer> {
  let current: Play = play(script);
  const requests: RecordedRequest[] = [];
  const waiting = new Set<() => void>();
  const closing = new AbortController();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "GET", url: path = "/" } = request;
    const body = await readBody(request);
    const call = wire.read({ method, path, headers: headersOf(request), body });
    if (call === null) {
      const { status, body: answer } = wire.other({ method, path });
      sendJson(response, { status, body: answer });
      return;
    }
    const { turn, recorded } = current.next(call);
    requests.push(recorded);
    for (const wake of waiting) wake();
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    await wire.answer({ turn, recorded, response, signal: AbortSignal.any([gone.signal, closing.signal]) });
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve());
  });
  const url = `http://127.0.0.1:${portOf(server.address())}`;

  return {
    url,
    requests,
    load(next) {
      current = play(next);
    },
    received: (count, options) => untilReceived({ requests, waiting, count, ...options }),
    close: () =>
      new Promise<void>((resolve) => {
        closing.abort();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Awaited {
  readonly requests: readonly RecordedRequest[];
  readonly waiting: Set<() => void>;
  readonly count: number;
  readonly conversation?: string;
  readonly signal: AbortSignal;
}

const untilReceived = ({ requests, waiting, count, conversation, signal }: Awaited): Promise<void> =>
  new Promise((resolve, reject) => {
    const check = (): void => {
      const seen = requests.filter((request) => conversation === undefined || request.conversation === conversation);
      if (seen.length < count) return;
      waiting.delete(check);
      resolve();
    };
    waiting.add(check);
    signal.addEventListener("abort", () => {
      waiting.delete(check);
      reject(signal.reason);
    });
    check();
  });

export function sendJson(
  response: ServerResponse,
  { status, body, headers = {} }: { status: number; body: unknown; headers?: Readonly<Record<string, string>> },
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** One server-sent event; waits when the reader is behind. */
export function sendEvent(
  response: ServerResponse,
  { event, data }: { event?: string; data: unknown },
): Promise<void> | undefined {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  const more = response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
  if (more || response.destroyed) return undefined;
  return new Promise((resolve) => {
    response.once("drain", resolve);
    response.once("close", resolve);
  });
}

/** Waits until everything written so far has left: what is cut off afterwards was still heard. */
export const flushed = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.once("close", resolve);
    response.write(": flush\n\n", () => resolve());
  });

/** Waits until the caller or the server is gone. */
export const untilGone = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted || ms <= 0) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });

async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    const bytes = Buffer.from(part);
    size += bytes.length;
    if (size > BODY_LIMIT) throw new Error(`The request's body is larger than ${BODY_LIMIT} bytes`);
    parts.push(bytes);
  }
  const text = Buffer.concat(parts).toString("utf8");
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) out[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return out;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("The model server has no port");
  return address.port;
}
