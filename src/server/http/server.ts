/** The HTTP server: who may enter, which route answers, and how errors are answered. Surfaces are mounted on it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError } from "../../protocol/errors.ts";
import { SessionId } from "../../protocol/id-schemas.ts";
import { openAccessLog } from "./access-log.ts";
import { checkHost, checkPerson, checkSite, checkToken, isLoopback, originAllowed } from "./auth.ts";
import { isHostCall } from "./host-key.ts";
import { asApiError, problemReply } from "./problem.ts";
import { type Reply, write } from "./reply.ts";
import { check, readJson } from "./request.ts";
import { type Answer, type Route, routerPath, type ServerContext } from "./route.ts";
import { createRouter, type Exchange, type Router, targetOf } from "./router.ts";

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
  /** Whether the request shows something that counts as the token. */
  readonly isAllowed: (url: string) => boolean;
  readonly connect: (upgrade: Upgrade, context: ServerContext) => Promise<void>;
}

export interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface Door {
  /** The address we are bound to decides whether the Host header is checked. */
  readonly host: string;
  readonly token: string | null;
  /** Whether a page credential is valid. */
  readonly accepts: (credential: string) => boolean;
  /** Credentials that are good for some routes only. */
  readonly acceptsAt?: (credential: string, route: { readonly method: string; readonly path: string }) => boolean;
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
}

const LIMITS: ConnectionLimits = { headersMs: 10_000, requestMs: 60_000, checkMs: 5_000, connections: 4_096 };

const JSON_TYPE = "application/json; charset=utf-8";

export function createHttpServer(options: HttpOptions): Server {
  const handle = createHandler(options);
  const { headersMs, requestMs, checkMs, connections } = { ...LIMITS, ...options.limits };
  const server = createServer(
    { headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: checkMs },
    (incoming, outgoing) => {
      handle(incoming, outgoing).catch((error: unknown) => {
        options.context.logger.error("request.failed", { path: incoming.url, error });
        outgoing.destroy();
      });
    },
  );
  // A connection that cannot be accepted, without a free file descriptor for example, is lost to its client only.
  server.on("error", (error) => options.context.logger.error("connection.not_accepted", { error }));
  server.maxConnections = connections;
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    upgrade({ incoming, socket, head }, options).catch((error: unknown) => {
      const { status } = asApiError(error, { logger: options.context.logger, path: incoming.url ?? "" });
      if (socket.writable) socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  server.on("clientError", (_error, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  });
  return server;
}

async function upgrade(given: Upgrade, { door, surfaces, context }: HttpOptions): Promise<void> {
  const { headers, url = "", method = "GET" } = given.incoming;
  if (isLoopback(door.host)) checkHost(headers.host);
  checkSite({ headers, method, allowed: door.corsOrigins, isStatic: false });
  const sockets = surfaces.find((surface) => surface.sockets?.isAt(url) === true)?.sockets;
  const { token, accepts } = door;
  const shows = headers.authorization === undefined && sockets?.isAllowed(url) === true;
  if (token !== null && !shows) {
    const call = await takeCall(given.incoming, { context, mayCall: () => sockets?.hosts === true });
    if (call === null) checkToken(headers.authorization, { token, accepts });
  }
  const isSocket = headers.upgrade?.toLowerCase() === "websocket";
  if (sockets === undefined || !isSocket) throw noRoute({ method, path: url });
  await sockets.connect(given, context);
}

/** Never rejects: whatever goes wrong is answered, or written to the log. */
function createHandler({ door, context, routes, surfaces }: HttpOptions) {
  const router = routerOf({ door, context, routes, surfaces });
  const open = new Set(routes.filter(({ doc }) => doc.open === true).map(({ method, path }) => `${method} ${path}`));
  const isStatic = (path: string): boolean => surfaces.some((surface) => surface.isStatic?.(path) === true);
  const isOpen = (method: string, path: string): boolean => {
    if (method === "GET" || method === "HEAD") return open.has(`get ${path}`) || isStatic(path);
    return open.has(`${method.toLowerCase()} ${path}`);
  };
  const mayCall = ({ method, route }: Exchange): boolean =>
    surfaces.some(({ hostRoutes }) => hostRoutes?.has(`${method} ${route}`) === true);
  const access = openAccessLog(context.logger);
  const { logger } = context;
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    try {
      const exchange = exchangeOf(incoming, outgoing, router);
      access.watch(exchange);
      const admitted = await admit(exchange, { door, context, isOpen, isStatic, mayCall });
      await write(outgoing, admitted ?? (await exchange.handler(exchange)));
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
    router.add(route.method.toUpperCase(), routerPath(route.path), (exchange) =>
      answer(exchange, route, { context, door }),
    );
  }
  for (const [path, methods] of methodsByPath(routes)) {
    router.add(null, routerPath(path), (exchange) => refuseMethod(exchange, methods));
  }
  for (const surface of surfaces) surface.mount(router, context);
  return router;
}

function exchangeOf(incoming: IncomingMessage, outgoing: ServerResponse, router: Router) {
  const method = incoming.method ?? "GET";
  const target = targetOf(incoming.url ?? "/");
  const found = router.find(method, target.path) ?? { route: null, params: {}, handler: noHandler };
  return { incoming, outgoing, method, ...target, ...found };
}

const noHandler = (exchange: Exchange): Reply => problemReply(noRoute(exchange));

export const noRoute = ({ method, path }: { readonly method: string; readonly path: string }): ApiError =>
  new ApiError("not_found", `There is no route ${method} ${path}. GET /openapi.json describes those there are.`);

interface Admission {
  readonly door: Door;
  readonly context: ServerContext;
  /** Whether another host may ask for it. */
  readonly mayCall: (exchange: Exchange) => boolean;
  /** What needs no token. */
  readonly isOpen: (method: string, path: string) => boolean;
  readonly isStatic: (path: string) => boolean;
}

/** The door. Its headers are set on the node response, so that streams written straight on it carry them too. */
async function admit(exchange: Exchange, admission: Admission): Promise<Reply | null> {
  const { incoming, outgoing, method, path } = exchange;
  const { door, context, isOpen, isStatic, mayCall } = admission;
  const { headers } = incoming;
  const { host, origin, authorization } = headers;
  outgoing.setHeader("x-content-type-options", "nosniff");
  outgoing.setHeader("cross-origin-resource-policy", "same-origin");
  // Whatever a route sends, an agent's file among it: opened as a page it runs nothing. The inspector has its own.
  if (!isStatic(path)) outgoing.setHeader("content-security-policy", "sandbox; default-src 'none'");
  if (isLoopback(door.host)) checkHost(host);
  if (origin !== undefined && originAllowed(origin, { allowed: door.corsOrigins })) {
    allowOrigin(outgoing, origin);
    if (isPreflight(incoming)) return { status: 204, headers: {}, body: null };
  }
  checkSite({ headers, method, allowed: door.corsOrigins, isStatic: isStatic(path) });
  const { token } = door;
  const accepts = (credential: string): boolean =>
    door.accepts(credential) || door.acceptsAt?.(credential, { method, path }) === true;
  if (token === null || isOpen(method, path)) return null;
  const call = await takeCall(incoming, { context, mayCall: () => mayCall(exchange) });
  if (call === null) checkToken(authorization, { token, accepts });
  for (const [name, value] of Object.entries(call ?? {})) outgoing.setHeader(name, value);
  return null;
}

/** The headers of a call's answer where another host asks; null for everybody else, who needs the token. */
async function takeCall(
  incoming: IncomingMessage,
  { context: { hostCalls }, mayCall }: { readonly context: ServerContext; readonly mayCall: () => boolean },
): Promise<Readonly<Record<string, string>> | null> {
  if (hostCalls === null || !isHostCall(incoming.headers.authorization)) return null;
  if (mayCall()) return hostCalls.take(incoming);
  throw new ApiError("token_invalid", "Hosts ask each other for what is on their disks, and nothing else.");
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
  { incoming, outgoing, params, query: given }: Exchange,
  route: Route,
  { context, door }: Pick<HttpOptions, "context" | "door">,
): Promise<Reply> {
  if (route.doc.personal === true) checkPerson(incoming.headers.authorization, door);
  if (params.id !== undefined) check(SessionId, params.id, { where: "The session id" });
  const query = route.query === null ? {} : check(route.query, given, { where: "The query" });
  const body =
    route.body === null ? {} : check(route.body, await bodyOf(incoming, route, context), { where: "The body" });
  return toReply(await route.handle({ ...context, params, query, body, incoming, outgoing }));
}

const bodyOf = (incoming: IncomingMessage, { bodyOptional }: Route, { maxBodyBytes }: ServerContext) =>
  readJson(incoming, { maxBytes: maxBodyBytes, optional: bodyOptional });

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
