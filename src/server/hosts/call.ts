/**
 * Asks another host. Of the client's request only what the caller names goes along, never who the client is; an answer
 * counts when the host has shown that it is the one. Redirects are answers like any other: nothing follows them.
 */
import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { type Duplex, Transform } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import * as z from "zod";
import type { DiskHost } from "../../runtime/log/hosts-contract.ts";
import { placeOf } from "../../runtime/session/owner.ts";
import type { HostCalls, OutgoingCall } from "../http/host-calls.ts";
import { addressOf, unavailable } from "./address.ts";

const CONNECT_MS = 5_000;
/** OpenCode's server, which may be asked over there, has two minutes. */
const ANSWER_MS = 130_000;
const IDLE_MS = 60_000;
const ANSWER_BYTES = 64 * 1024 * 1024;

export interface HostRequest {
  readonly method: string;
  /** Path and query, as the other host sees them. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Asking {
  readonly calls: HostCalls;
  readonly host: DiskHost;
  readonly request: HostRequest;
  /** Ends the call: the client has left. */
  readonly signal: AbortSignal;
}

/** The answer of the host itself. Whatever else happens says which host, and what to do. */
export async function askHost({ calls, host, request, signal }: Asking): Promise<IncomingMessage> {
  const { outgoing, call } = await openCall({ calls, host, request, signal });
  outgoing.end(request.body);
  const { answer } = await answerTo(outgoing).catch((cause: unknown) => {
    throw unreachableHost(host, cause);
  });
  if (call.isAnswered(answer)) return answer;
  answer.destroy();
  throw stranger(host, answer);
}

export async function openCall({
  calls,
  host,
  request,
  signal,
}: Asking): Promise<{ readonly outgoing: ClientRequest; readonly call: OutgoingCall }> {
  const { isTls, hostname, port, prefix } = addressOf(host);
  const { method, target, headers, body } = request;
  const call = await calls.sign(host, request);
  // Loaded when it is needed: TLS takes memory, and most daemons call nobody by it.
  const send = isTls ? (await import("node:https")).request : httpRequest;
  const outgoing = send({
    ...{ hostname, port, method, path: prefix + target, signal },
    headers: { ...headers, "content-length": body.length, authorization: call.authorization },
    // A connection of its own: one that was kept may have ended, and not everything may be sent twice.
    agent: false,
  });
  // `answerTo` reports it. Without a handler, an error event ends the daemon.
  outgoing.on("error", () => {});
  const connecting = setTimeout(() => outgoing.destroy(new Error("no connection in time")), CONNECT_MS);
  outgoing.on("socket", (socket) => {
    socket.once(isTls ? "secureConnect" : "connect", () => clearTimeout(connecting));
  });
  outgoing.on("close", () => clearTimeout(connecting));
  return { outgoing, call };
}

/** What came first: an answer, or with it the connection, which speaks another protocol from here on. */
export interface Answered {
  readonly answer: IncomingMessage;
  readonly upstream: { readonly socket: Duplex; readonly first: Buffer } | null;
}

/** Rejects with what the connection met. */
export function answerTo(outgoing: ClientRequest): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const waiting = setTimeout(() => outgoing.destroy(new Error("no answer in time")), ANSWER_MS);
    const settle = (answered: Answered): void => {
      clearTimeout(waiting);
      resolve(answered);
    };
    outgoing.on("response", (answer) => settle({ answer, upstream: null }));
    outgoing.on("upgrade", (answer, socket, first) => settle({ answer, upstream: { socket, first } }));
    outgoing.on("error", (error) => {
      clearTimeout(waiting);
      reject(error);
    });
  });
}

export function unreachableHost(host: DiskHost, cause: unknown): Error {
  const known = cause instanceof Error ? cause.message : "";
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : known;
  const next = "see that it runs and that this host can connect to its URL, which --host-url sets";
  return unavailable(`It is on ${placeOf(host)}, which cannot be reached (${code}): ${next}.`, { cause });
}

export const stranger = (host: DiskHost, { statusCode = 0 }: IncomingMessage): Error =>
  unavailable(
    `It is on ${placeOf(host)}, and what answers there (with ${statusCode}) is not that host, or refuses this one: ` +
      "both need the same token and version, and --host-url must lead to that host alone.",
  );

const kept = ["content-type", "x-next-cursor", "link"];

export function headersOf(answer: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of kept) {
    const value = answer.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  return headers;
}

/** As fast as the client takes it. One that sees the connection break knows that the rest is missing. */
export async function relay(answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(answer.statusCode ?? 502, headersOf(answer));
  await pipeline(pieces(answer), outgoing).catch(() => outgoing.destroy());
}

/** An answer with its bounds: of size, and of silence. */
export function pieces(answer: IncomingMessage): NodeJS.ReadableStream {
  let size = 0;
  answer.setTimeout(IDLE_MS, () => answer.destroy(new Error("silent for too long")));
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > ANSWER_BYTES ? new Error(`longer than ${ANSWER_BYTES} bytes`) : null, chunk);
    },
  });
  // The reader gets the error as well.
  bounded.on("error", () => answer.destroy());
  answer.on("error", (error) => bounded.destroy(error));
  bounded.on("close", () => answer.destroy());
  return answer.pipe(bounded);
}

/** Fires when the client has left. */
export function leaving(outgoing: ServerResponse): AbortSignal {
  const left = new AbortController();
  outgoing.on("close", () => left.abort());
  return left.signal;
}

/** What a host answers to a request of ours: JSON, or why not, in words. */
export async function jsonOf(answer: IncomingMessage): Promise<unknown> {
  const body = await text(pieces(answer));
  const { data } = Answer.safeParse(parsed(body));
  if (answer.statusCode === 200 && data !== undefined) return data;
  throw unavailable(data?.detail ?? `The other host answers with ${answer.statusCode}.`);
}

const Answer = z.looseObject({ detail: z.string().optional() });

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
