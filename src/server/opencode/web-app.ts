/**
 * OpenCode's own web app on any agent: a port of loopback where page and assets come from the installed OpenCode, which
 * carries them, and the API from our daemon. A password of its own guards the port.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { ApiError } from "../../protocol/errors.ts";
import { checkHost, checkSite, tokenMatches, tokenOf } from "../http/auth.ts";
import { operations } from "./operations.ts";

export interface WebAppOptions {
  /** Where OpenCode's server, which carries the page, is; and what it needs to let us in. */
  readonly page: Origin;
  /** The API: a daemon's address with the path of its OpenCode surface. */
  readonly api: Origin;
  /** What a browser has to show. */
  readonly password: string;
  readonly port: number;
}

export interface Origin {
  readonly url: string;
  readonly authorization: string | null;
}

export interface WebApp {
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function serveWebApp(options: WebAppOptions): Promise<WebApp> {
  const server = createServer((incoming, outgoing) => answer(options, incoming, outgoing));
  // The server no longer counts a connection as its own once it is a WebSocket.
  const terminals = new Set<Duplex>();
  server.on("upgrade", (incoming, socket, head) => {
    terminals.add(socket);
    socket.once("close", () => terminals.delete(socket));
    upgrade(options, { incoming, socket, head });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  const { port } = address(server);
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        for (const socket of terminals) socket.destroy();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function address(server: Server): AddressInfo {
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("A server that listens has a port.");
  return at;
}

/** The first names of all paths of the API: whatever else is asked for is the page's. */
const names: ReadonlySet<string> = new Set(operations.map((operation) => operation.split("/")[1] ?? ""));

const isApi = (url: string): boolean => names.has(url.split("?")[0]?.split("/")[1] ?? "");

/** Throws where a request may not enter. */
function admit({ password }: WebAppOptions, { headers, method = "GET" }: IncomingMessage): void {
  checkHost(headers.host);
  // The address is typed or followed from elsewhere; it shows a page and does nothing.
  const isNavigation = headers["sec-fetch-mode"] === "navigate" && method === "GET";
  if (!isNavigation) checkSite({ headers, method, allowed: [], isStatic: false });
  const given = tokenOf(headers.authorization);
  if (given === null || !tokenMatches(given, { token: password })) {
    throw new ApiError("token_invalid", "The web app needs its password: `franca opencode --web` prints it.");
  }
}

function answer(options: WebAppOptions, incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.setHeader("x-content-type-options", "nosniff");
  outgoing.setHeader("cross-origin-resource-policy", "same-origin");
  outgoing.setHeader("referrer-policy", "no-referrer");
  try {
    admit(options, incoming);
  } catch (error) {
    refuse(outgoing, error);
    return;
  }
  const { url = "/", method = "GET" } = incoming;
  const api = isApi(url);
  if (!api && method !== "GET" && method !== "HEAD") {
    outgoing.writeHead(405).end();
    return;
  }
  const { target, headers } = targetOf(api ? options.api : options.page, incoming);
  const asked = request(target, { method, headers }, (answered) => {
    outgoing.writeHead(answered.statusCode ?? 502, shown(answered.headers));
    answered.pipe(outgoing);
  });
  asked.on("error", () => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502, { "content-type": "text/plain" }).end("What answers this cannot be reached.");
  });
  outgoing.on("close", () => asked.destroy());
  incoming.pipe(asked);
}

function refuse(outgoing: ServerResponse, error: unknown): void {
  const { status, message } = error instanceof ApiError ? error : new ApiError("internal", "It went wrong.");
  const login = status === 401 ? { "www-authenticate": 'Basic realm="OpenCode", charset="UTF-8"' } : {};
  outgoing.writeHead(status, { "content-type": "text/plain", ...login }).end(message);
}

const passedOn = [
  "accept",
  "content-type",
  "content-length",
  "last-event-id",
  "x-opencode-directory",
  "x-opencode-ticket",
  "range",
];
const passedBack = [
  "content-type",
  "content-length",
  "content-security-policy",
  "cache-control",
  "x-next-cursor",
  "link",
];

/** Neither the browser's password nor its cookies go further: each server gets its own credential. */
function targetOf({ url, authorization }: Origin, { url: path = "/", headers }: IncomingMessage) {
  const sent: Record<string, string> = {};
  for (const name of passedOn) {
    const value = headers[name];
    if (typeof value === "string") sent[name] = value;
  }
  if (authorization !== null) sent.authorization = authorization;
  return { target: `${url}${path}`, headers: sent };
}

function shown(headers: IncomingMessage["headers"]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of passedBack) {
    const value = headers[name];
    if (typeof value === "string") kept[name] = value;
  }
  return kept;
}

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Terminals: the daemon checks them again by its own rules. */
function upgrade(options: WebAppOptions, { incoming, socket, head }: Upgrade): void {
  socket.on("error", () => socket.destroy());
  try {
    admit(options, incoming);
    if (!isApi(incoming.url ?? "")) throw new ApiError("not_found", "There is no WebSocket here.");
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 500;
    socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    return;
  }
  const { target, headers } = targetOf(options.api, incoming);
  const { hostname, port, pathname, search } = new URL(target);
  const own = Object.entries(incoming.headers).filter(([name]) => name.startsWith("sec-websocket-"));
  const lines = [
    `GET ${pathname}${search} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    ...[...own, ...Object.entries(headers)].map(([name, value]) => `${name}: ${String(value)}`),
  ];
  const upstream = connect({ host: hostname, port: Number(port) }, () => {
    upstream.write(`${lines.join("\r\n")}\r\n\r\n`);
    if (head.length > 0) upstream.write(head);
    upstream.pipe(socket);
    socket.pipe(upstream);
  });
  const end = (): void => {
    upstream.destroy();
    socket.destroy();
  };
  upstream.on("error", end).on("close", end);
  socket.on("close", end);
}
