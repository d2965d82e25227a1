/** The API that OpenCode's own clients speak: its TUI, its SDK, `opencode run --attach`. Any agent behind it. */

import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { MOCK } from "../../core/default-agent.ts";
import { defaultOptions, type OpenCodeOptions } from "../../projections/opencode/index.ts";
import { asApiError } from "../http/problem.ts";
import { honoPath, type ServerContext } from "../http/route.ts";
import type { App, Environment, Surface } from "../http/server.ts";
import { bodyOf } from "./chunked-body.ts";
import { watchDeletions } from "./deletions.ts";
import { document } from "./document.ts";
import { eventRoutes, openEventStreams } from "./events.ts";
import { fileRoutes } from "./files.ts";
import { operations } from "./operations.ts";
import { permissionRoutes } from "./permissions.ts";
import { promptRoutes } from "./prompts.ts";
import { openCatalogue } from "./providers.ts";
import {
  directoryOf,
  errorBody,
  type OpenCodeAnswer,
  type OpenCodeCall,
  type OpenCodeContext,
  type OpenCodeRoute,
  readBody,
} from "./route.ts";
import { serverInfoRoutes } from "./server-info.ts";
import { openSessionViews } from "./session-views.ts";
import { sessionRoutes } from "./sessions.ts";
import { sideRequestRoutes } from "./side-requests.ts";
import { openTurns } from "./turns.ts";

export interface OpenCodeSurfaceOptions extends Partial<OpenCodeOptions> {
  /** Also at the root, for clients that take no path. */
  readonly root?: boolean;
  /** Where files that come with prompts are kept. */
  readonly attachments: string;
}

export const MOUNT = "/opencode";

/** Everything that is real, in part or in whole. */
export const openCodeRoutes: readonly OpenCodeRoute[] = [
  ...eventRoutes,
  ...sessionRoutes,
  ...promptRoutes,
  ...sideRequestRoutes,
  ...permissionRoutes,
  ...serverInfoRoutes,
  ...fileRoutes,
];

export function openCodeSurface({ root = false, attachments, ...given }: OpenCodeSurfaceOptions): Surface {
  return {
    name: "opencode",
    mount(app, context) {
      const own = { ...openContext(context, { ...defaultOptions, ...given }), attachments };
      // `/opencode/@claude/…` is the same with another agent to begin with.
      for (const prefix of [`${MOUNT}/:scope{@[a-z0-9_-]+}`, MOUNT, ...(root ? [""] : [])]) mountAt(app, prefix, own);
    },
  };
}

function openContext(context: ServerContext, options: OpenCodeOptions): Omit<OpenCodeContext, "attachments"> {
  const { sessions, logger, stopped } = context;
  const views = openSessionViews({ sessions, options, stopped, logger });
  watchDeletions({ views, sessions, stopped });
  return {
    ...context,
    views,
    catalogue: openCatalogue(sessions),
    turns: openTurns({ views }),
    streams: openEventStreams({ views }),
  };
}

function mountAt(app: App, prefix: string, context: OpenCodeContext): void {
  for (const route of openCodeRoutes)
    app.on(route.method, prefix + honoPath(route.path), (c) => answer(c, route, context));
  app.get(`${prefix}/doc`, () => respond(200, document(openCodeRoutes)));
  const real = new Set(openCodeRoutes.map(({ method, path }) => `${method} ${path}`));
  for (const operation of operations.filter((one) => !real.has(one))) {
    const [method = "", path = ""] = operation.split(" ");
    app.on(method, prefix + honoPath(path), () => refuse(501, `${operation} is not supported by Franca.`));
  }
  if (prefix !== "") app.all(`${prefix}/*`, (c) => refuse(404, `There is no route ${c.req.method} ${c.req.path}.`));
}

async function answer(c: Context<Environment>, route: OpenCodeRoute, context: OpenCodeContext): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const query = c.req.query();
  const params: Readonly<Record<string, string>> = c.req.param();
  const call: OpenCodeCall = {
    ...context,
    params,
    query,
    directory: directoryOf({ query, headers: incoming.headers }),
    agent: params.scope?.slice(1) ?? context.sessions.defaultAgent() ?? MOCK,
    incoming,
    outgoing,
    body: (schema) => readBody(incoming, schema, { maxBytes: context.maxBodyBytes }),
  };
  try {
    return await toResponse(await route.handle(call));
  } catch (error) {
    const known = asApiError(error, { logger: context.logger, path: c.req.path });
    if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
    const { status, body } = errorBody(known, params);
    return respond(status, body);
  }
}

async function toResponse(given: OpenCodeAnswer): Promise<Response> {
  if (given === "sent") return RESPONSE_ALREADY_SENT;
  if (given === "empty") return new Response(null, { status: 204 });
  if ("pieces" in given) return new Response(await bodyOf(given.pieces), { headers });
  return respond(given.status ?? 200, given.json);
}

const headers = { "content-type": "application/json" } as const;
const respond = (status: number, body: unknown): Response => new Response(JSON.stringify(body), { status, headers });

const refuse = (status: 404 | 501, message: string): Response =>
  respond(status, { name: status === 404 ? "NotFoundError" : "NotImplemented", data: { message } });
