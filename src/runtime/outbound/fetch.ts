/**
 * `fetch` for URLs that a person configured (webhooks, telemetry, MCP servers), by the address rule. A name is resolved
 * once; what was checked is what is connected to, so a name that answers differently the next time changes nothing.
 * Redirects are never followed: the answer with the 3xx status is the answer.
 */
import { type LookupAddress, lookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import type { LookupFunction } from "node:net";
import { isAddress, refusal } from "./address.ts";

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** The address rule said no: nothing was connected to. */
export class RefusedAddressError extends Error {}

export interface OutboundOptions {
  /** Hosts, addresses and networks that are open although they are private (`readAllowEntry`). */
  readonly allow: readonly string[];
  /** Names to addresses; the system's resolver unless given. */
  readonly resolve?: Resolve;
}

export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Statuses whose answers have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

export function outboundFetch({ allow, resolve = systemResolve }: OutboundOptions): OutboundFetch {
  return async (url, init = {}) => {
    const target = new URL(url);
    const addresses = await resolveOnce({ url: target, resolve, signal: init.signal ?? null });
    const refused = refusal({ url: target, addresses: addresses.map(({ address }) => address), allow });
    if (refused !== null) throw new RefusedAddressError(refused);
    // The platform's own reading of method, headers and body; nothing is sent by it.
    const request = new Request(target, init);
    const body = init.body === undefined || init.body === null ? null : Buffer.from(await request.arrayBuffer());
    const answer = await requestAt({
      url: target,
      addresses,
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body,
      signal: init.signal ?? null,
    });
    return responseOf(answer);
  };
}

const systemResolve: Resolve = (host) =>
  new Promise((done, failed) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? done(addresses) : failed(error)));
  });

interface ResolveOptions {
  readonly url: URL;
  readonly resolve?: Resolve;
  readonly signal: AbortSignal | null;
}

/** The addresses of a URL's host: the only time that its name is looked up. */
export async function resolveOnce({
  url: { hostname },
  resolve = systemResolve,
  signal,
}: ResolveOptions): Promise<readonly LookupAddress[]> {
  signal?.throwIfAborted();
  if (isAddress(hostname)) {
    const address = hostname.replace(/^\[|\]$/g, "");
    return [{ address, family: address.includes(":") ? 6 : 4 }];
  }
  if (signal === null) return resolve(hostname);
  const given = signal;
  return new Promise((done, failed) => {
    const abort = (): void => failed(given.reason);
    given.addEventListener("abort", abort, { once: true });
    resolve(hostname)
      .then(done, failed)
      .finally(() => given.removeEventListener("abort", abort));
  });
}

export interface PinnedRequest {
  readonly url: URL;
  /** Checked by the caller: one of these is connected to, whatever the name says by then. */
  readonly addresses: readonly LookupAddress[];
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  readonly signal: AbortSignal | null;
}

/** One request on a connection of its own: a pooled one could lead to an address that somebody else was allowed. */
export async function requestAt(request: PinnedRequest): Promise<IncomingMessage> {
  const { url, addresses, method, headers, body, signal } = request;
  const pinned: LookupFunction = (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (first === undefined) callback(new Error("The host has no address."), "", 4);
    else callback(null, first.address, first.family);
  };
  const length = body === null ? {} : { "content-length": String(body.length) };
  const options = {
    method,
    headers: { ...headers, ...length },
    agent: false as const,
    lookup: pinned,
    ...(signal === null ? {} : { signal }),
  };
  // Loaded when it is needed: TLS takes memory, and most daemons call nobody by it.
  const send = url.protocol === "https:" ? (await import("node:https")).request : requestHttp;
  return new Promise((resolve, reject) => {
    send(url, options, resolve).on("error", reject).end(body);
  });
}

function responseOf(incoming: IncomingMessage): Response {
  const { statusCode = 500, headersDistinct } = incoming;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  if (BODILESS.has(statusCode)) {
    incoming.resume();
    return new Response(null, { status: statusCode, headers });
  }
  return new Response(bodyOf(incoming), { status: statusCode, headers });
}

/** Pulled as it is read; who stops reading closes the connection. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: () => {
      incoming.destroy();
    },
  });
}
