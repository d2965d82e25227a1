/** The HTTP server: who may enter, which route answers, and how errors are answered. Surfaces are mounted on it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError } from "../../protocol/errors.ts";
import { SessionId } from "../../protocol/id-schemas.ts";
import { type Access, type Caller, checkAccess, OWNER } from "../credentials/access.ts";
import { openAccessLog } from "./access-log.ts";
import { callerOf, checkHost, checkPerson, checkSite, isLoopback, originAllowed, type TokenCheck } from "./auth.ts";
import { type Connections, watchConnections } from "./connections.ts";
import { contextFor } from "./context.ts";
import { isHostCall } from "./host-key.ts";
import { asApiError, problemReply } from "./problem.ts";
import { type Reply, write } from "./reply.ts";
import { check, readJson } from "./request.ts";
import { type Answer, type Route, routerPath, type ServerContext } from "./route.ts";
import { type AdmittedExchange, createRouter, type Exchange, type Found, type Router, targetOf } from "./router.ts";

/** A dialect of the API with routes of its own. It is behind the same door as everything else. */
export interface Surface {
  readonly name: string;
  readonly mount: (router: Router, context: ServerContext) => void;
  /** Static files: they need no token, and a link on another site may lead to them. */
  readonly isStatic?: (path: string) => boolean;
  /** What other hosts that share the log may ask for: methods and routes, as they are mounted. */
  readonly hostRoutes?: ReadonlySet<string>;
  /** WebSockets, where it has any. */
  readonly sockets?: SocketSurface;
}

/** Connections that stop being HTTP: behind the same door, before a byte of them goes anywhere. */
export interface SocketSurface {
  readonly isAt: (url: string) => boolean;
  /** The other hosts may connect as well. */
  readonly hosts?: boolean;
  readonly access: Access;
  /** Who was given the ticket that the URL shows in place of a credential; null: there is none. */
  readonly callerOf: (url: string) => Caller | null;
  readonly connect: (upgrade: Upgrade, context: ServerContext) => Promise<void>;
}

export interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface Door extends TokenCheck {
  /** The address we are bound to decides whether the Host header is checked. */
  readonly host: string;
  readonly corsOrigins: readonly string[];
}

export interface HttpOptions {
  readonly door: Door;
  readonly context: ServerContext;
  readonly routes: readonly Route[];
  readonly surfaces: readonly Surface[];
  readonly limits?: Partial<ConnectionLimits>;
}

export interface ConnectionLimits {
  /** How long a request may take to arrive: its headers, and all of it. Answers may take as long as they need. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often that is checked. */
  readonly checkMs: number;
  /** Further connections are closed at once, so that open ones keep working. */
  readonly connections: number;
  /** Maximum number of unauthenticated connections. Beyond it the oldest is closed. */
  readonly unauthenticated: number;
}

/** More than the number of connections that can wait to be accepted at once (511). */
const UNAUTHENTICATED = 512;
const LIMITS: ConnectionLimits = {
  headersMs: 5_000,
  requestMs: 60_000,
  checkMs: 1_000,
  connections: 4_096,
  unauthenticated: UNAUTHENTICATED,
};

/** Largest body of a request without a credential, in bytes. */
const MAX_OPEN_BODY_BYTES = 4_096;

const JSON_TYPE = "application/json; charset=utf-8";

export interface HttpServer {
  readonly server: Server;
  readonly connections: Connections;
}

export function createHttpServer(options: HttpOptions): HttpServer {
  const { headersMs, requestMs, checkMs, connections: most, unauthenticated } = { ...LIMITS, ...options.limits };
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
  });
  server.maxConnections = most;
  const connections = watchConnections(server, { unauthenticated });
  const handle = createHandler(options, connections);
  const { logger } = options.context;
  server.on("request", (incoming, outgoing) => {
    handle(incoming, outgoing).catch((error: unknown) => {
      logger.error("request.failed", { path: incoming.url, error });
      outgoing.destroy();
    });
  });
  // A connection that cannot be accepted, without a free file descriptor for example, is lost to its client only.
  server.on("error", (error) => logger.error("connection.not_accepted", { error }));
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    upgrade({ incoming, socket, head }, { ...options, connections }).catch((error: unknown) => {
      const { status } = asApiError(error, { logger: options.context.logger, path: incoming.url ?? "" });
      if (socket.writable) socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  server.on("clientError", (_error, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  });
  return { server, connections };
}

async function upgrade(
  given: Upgrade,
  { door, surfaces, context, connections }: HttpOptions & { readonly connections: Connections },
): Promise<void> {
  const { headers, url = "", method = "GET" } = given.incoming;
  if (isLoopback(door.host)) checkHost(headers.host);
  checkSite({ headers, method, allowed: door.corsOrigins, isStatic: false });
  const sockets = surfaces.find((surface) => surface.sockets?.isAt(url) === true)?.sockets;
  const holder = headers.authorization === undefined ? (sockets?.callerOf(url) ?? null) : null;
  const mayCall = (): boolean => sockets?.hosts === true;
  const caller = holder ?? (await knownCaller(given.incoming, { door, context, mayCall })).caller;
  connections.authenticated(given.incoming.socket);
  const isSocket = headers.upgrade?.toLowerCase() === "websocket";
  if (sockets === undefined || !isSocket) throw noRoute({ method, path: url });
  checkAccess(sockets.access, caller);
  if (caller.type === "limited") caller.ended.addEventListener("abort", () => given.socket.destroy(), { once: true });
  await sockets.connect(given, contextFor(context, caller));
}

/** Never rejects: every error is answered, or written to the log. */
function createHandler({ door, context, routes, surfaces }: HttpOptions, connections: Connections) {
  const router = routerOf({ door, context, routes, surfaces });
  const isStatic = (path: string): boolean => surfaces.some((surface) => surface.isStatic?.(path) === true);
  const mayCall = ({ method, route }: Exchange): boolean =>
    surfaces.some(({ hostRoutes }) => hostRoutes?.has(`${method} ${route}`) === true);
  const access = openAccessLog(context.logger);
  const { logger } = context;
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    try {
      const exchange = exchangeOf(incoming, outgoing, router);
      access.watch(exchange);
      const admitted = await admit(exchange, { door, context, connections, isStatic, mayCall });
      await write(
        outgoing,
        "caller" in admitted ? await exchange.handler({ ...exchange, ...admitted }) : admitted.reply,
      );
    } catch (error) {
      const known = asApiError(error, { logger, path: incoming.url?.split("?")[0] ?? "" });
      if (outgoing.headersSent) return;
      const isToken = known.code === "token_invalid";
      await write(outgoing, problemReply(known, isToken ? { "www-authenticate": 'Bearer realm="franca"' } : {}));
    }
  };
}

function routerOf({ door, context, routes, surfaces }: HttpOptions): Router {
  const router = createRouter();
  for (const route of routes) {
    const access = route.doc.open === true ? "open" : (route.access ?? "owner");
    const handler = (exchange: AdmittedExchange): Promise<Reply> => answer(exchange, route, { context, door });
    router.add(route.method.toUpperCase(), routerPath(route.path), handler, access);
  }
  for (const [path, methods] of methodsByPath(routes)) {
    router.add(null, routerPath(path), (exchange) => refuseMethod(exchange, methods), "any");
  }
  for (const surface of surfaces) surface.mount(router, context);
  return router;
}

function exchangeOf(incoming: IncomingMessage, outgoing: ServerResponse, router: Router) {
  const method = incoming.method ?? "GET";
  const target = targetOf(incoming.url ?? "/");
  const found = router.find(method, target.path) ?? nothing;
  return { incoming, outgoing, method, ...target, ...found };
}

const nothing = {
  route: null,
  params: {},
  handler: (exchange: Exchange): Reply => problemReply(noRoute(exchange)),
  access: "any",
} as const;

export const noRoute = ({ method, path }: { readonly method: string; readonly path: string }): ApiError =>
  new ApiError("not_found", `There is no route ${method} ${path}. GET /openapi.json describes those there are.`);

interface Admission {
  readonly door: Door;
  readonly context: ServerContext;
  readonly connections: Connections;
  /** Whether another host may ask for it. */
  readonly mayCall: (exchange: Exchange) => boolean;
  readonly isStatic: (path: string) => boolean;
}

/**
 * Checks a request before its route sees it. Headers are set on the node response, so that streams written straight on
 * it carry them too.
 */
async function admit(
  exchange: Exchange & Pick<Found, "access">,
  { door, context, connections, isStatic, mayCall }: Admission,
): Promise<{ readonly reply: Reply } | { readonly caller: Caller }> {
  const { incoming, outgoing, method, path, access } = exchange;
  const { headers } = incoming;
  const { host, origin } = headers;
  outgoing.setHeader("x-content-type-options", "nosniff");
  outgoing.setHeader("cross-origin-resource-policy", "same-origin");
  // Whatever a route sends, an agent's file among it: opened as a page it runs nothing. The inspector has its own.
  if (!isStatic(path)) outgoing.setHeader("content-security-policy", "sandbox; default-src 'none'");
  if (isLoopback(door.host)) checkHost(host);
  if (origin !== undefined && originAllowed(origin, { allowed: door.corsOrigins })) {
    allowOrigin(outgoing, origin);
    if (isPreflight(incoming)) return { reply: { status: 204, headers: {}, body: null } };
  }
  checkSite({ headers, method, allowed: door.corsOrigins, isStatic: isStatic(path) });
  // The handlers of these read nothing that depends on the caller.
  if (access === "open" || (isStatic(path) && (method === "GET" || method === "HEAD"))) return { caller: OWNER };
  const { caller, answerHeaders } = await knownCaller(incoming, { door, context, mayCall: () => mayCall(exchange) });
  connections.authenticated(incoming.socket);
  for (const [name, value] of Object.entries(answerHeaders)) outgoing.setHeader(name, value);
  checkAccess(access, caller);
  return { caller };
}

interface Identification {
  readonly door: Door;
  readonly context: ServerContext;
  readonly mayCall: () => boolean;
}

/** Another host that signed the request, or a client with a token or a credential. Throws for anyone else. */
async function knownCaller(
  incoming: IncomingMessage,
  { door, context, mayCall }: Identification,
): Promise<{ readonly caller: Caller; readonly answerHeaders: Readonly<Record<string, string>> }> {
  const answerHeaders = door.token === null ? null : await takeCall(incoming, { context, mayCall });
  if (answerHeaders !== null) return { caller: OWNER, answerHeaders };
  return { caller: callerOf(incoming.headers.authorization, door), answerHeaders: {} };
}

/** The headers of a call's answer where another host asks; null for everybody else, who needs the token. */
async function takeCall(
  incoming: IncomingMessage,
  { context: { hostCalls }, mayCall }: { readonly context: ServerContext; readonly mayCall: () => boolean },
): Promise<Readonly<Record<string, string>> | null> {
  if (hostCalls === null || !isHostCall(incoming.headers.authorization)) return null;
  if (mayCall()) return hostCalls.take(incoming);
  throw new ApiError("token_invalid", "This route is not for other hosts.");
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

function allowOrigin(outgoing: ServerResponse, origin: string): void {
  outgoing.setHeader("access-control-allow-origin", origin);
  outgoing.setHeader("vary", "Origin");
  outgoing.setHeader("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  outgoing.setHeader(
    "access-control-allow-headers",
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Opencode-Directory",
  );
  outgoing.setHeader("access-control-expose-headers", "Franca-Prompt-Id, Link, X-Next-Cursor");
  outgoing.setHeader("access-control-max-age", "600");
}

async function answer(
  { incoming, outgoing, params, query: given, caller }: AdmittedExchange,
  route: Route,
  { context: whole, door }: Pick<HttpOptions, "context" | "door">,
): Promise<Reply> {
  if (route.doc.personal === true) checkPerson(incoming.headers.authorization, door);
  if (params.id !== undefined) check(SessionId, params.id, { where: "The session id" });
  const context = contextFor(whole, caller);
  const query = route.query === null ? {} : check(route.query, given, { where: "The query" });
  const body =
    route.body === null ? {} : check(route.body, await bodyOf(incoming, route, context), { where: "The body" });
  return toReply(await route.handle({ ...context, caller, params, query, body, incoming, outgoing }));
}

function bodyOf(incoming: IncomingMessage, { bodyOptional, doc }: Route, { maxBodyBytes }: ServerContext) {
  const maxBytes = doc.open === true ? Math.min(MAX_OPEN_BODY_BYTES, maxBodyBytes) : maxBodyBytes;
  return readJson(incoming, { maxBytes, optional: bodyOptional });
}

function toReply(answer: Answer): Reply {
  switch (answer.type) {
    case "json":
      return {
        status: answer.status ?? 200,
        headers: { "content-type": JSON_TYPE },
        body: JSON.stringify(answer.body),
      };
    case "text":
      return { status: 200, headers: { "content-type": answer.contentType }, body: answer.text };
    case "empty":
      return { status: 204, headers: { ...answer.headers }, body: null };
    case "sent":
      return "sent";
  }
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const { path, method } of routes) methods.set(path, [...(methods.get(path) ?? []), method.toUpperCase()]);
  return methods;
}

function refuseMethod({ path, method }: Exchange, methods: readonly string[]): Reply {
  const detail = `${path} takes ${methods.join(", ")}, not ${method}.`;
  return problemReply(new ApiError("method_not_allowed", detail), { allow: methods.join(", ") });
}
