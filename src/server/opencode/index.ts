/** The API that OpenCode's own clients speak: its TUI, its SDK, `opencode run --attach`. Any agent behind it. */
import { MOCK } from "../../core/default-agent.ts";
import { defaultOptions, type OpenCodeOptions } from "../../projections/opencode/index.ts";
import type { Action } from "../../protocol/tokens.ts";
import type { LimitedAccess } from "../credentials/access.ts";
import { contextFor } from "../http/context.ts";
import { ELSEWHERE_HEADER } from "../http/host-calls.ts";
import { asApiError } from "../http/problem.ts";
import type { Reply } from "../http/reply.ts";
import { routerPath, type ServerContext } from "../http/route.ts";
import type { AdmittedExchange, Router } from "../http/router.ts";
import type { Surface } from "../http/server.ts";
import { bodyOf } from "./chunked-body.ts";
import { answerRules, RULES_ROUTE } from "./config-rules.ts";
import { watchDeletions } from "./deletions.ts";
import { document } from "./document.ts";
import { eventRoutes, openEventStreams } from "./events.ts";
import { fileRoutes } from "./files.ts";
import { viewsFor } from "./limited-views.ts";
import { nextFileRoutes } from "./next-files.ts";
import { nextHistoryRoutes } from "./next-history.ts";
import { nextSessionRoutes, ofSession } from "./next-sessions.ts";
import { tableOf } from "./operations.ts";
import { fromOtherDisk, isOfDisk, MovedDisk } from "./other-disk.ts";
import { openPassThrough, type PassThrough } from "./pass-through.ts";
import { passed } from "./pass-through-operations.ts";
import { permissionRoutes } from "./permissions.ts";
import { promptRoutes } from "./prompts.ts";
import { openCatalogue } from "./providers.ts";
import {
  directoryFor,
  errorBody,
  nextErrorBody,
  notImplemented,
  type OpenCodeAnswer,
  type OpenCodeCall,
  type OpenCodeContext,
  type OpenCodeRoute,
  readBody,
  respond,
} from "./route.ts";
import { serverInfoRoutes } from "./server-info.ts";
import { openSessionViews } from "./session-views.ts";
import { sessionRoutes } from "./sessions.ts";
import { sideRequestRoutes } from "./side-requests.ts";
import { connectTerminal, terminalAt, ticketIn } from "./terminals.ts";
import { tuiRoutes } from "./tui.ts";
import { openTurns } from "./turns.ts";
import { openUndo } from "./undo.ts";

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
  ...nextFileRoutes,
  ...tuiRoutes,
  ...nextSessionRoutes,
  ...nextHistoryRoutes.map(ofSession),
];

/** Every operation of OpenCode's API, and who answers it. */
export const operationTable = tableOf(openCodeRoutes);

const MOUNTS = [`${MOUNT}/:scope{@[a-z0-9_-]+}`, MOUNT] as const;

/** Not at the root: other hosts need no second way. */
const routesForHosts: ReadonlySet<string> = new Set([
  `POST ${RULES_ROUTE}`,
  ...operationTable
    .filter(({ operation, kind }) => isOfDisk(operation) && kind !== "refused")
    .flatMap(({ operation }) => MOUNTS.map((mount) => operation.replace(" ", ` ${mount}`)))
    .map(routerPath),
]);

export function openCodeSurface({ root = false, attachments, ...given }: OpenCodeSurfaceOptions): Surface {
  let passThrough: PassThrough | null = null;
  return {
    name: "opencode",
    mount(router, context) {
      const own = openContext({ ...context, attachments }, { ...defaultOptions, ...given });
      passThrough = own.passThrough;
      // `/opencode/@claude/…` is the same with another agent to begin with.
      router.add("POST", RULES_ROUTE, (exchange) => answerRules(exchange, own));
      for (const prefix of [...MOUNTS, ...(root ? [""] : [])]) mountAt(router, prefix, own);
    },
    hostRoutes: routesForHosts,
    sockets: {
      hosts: true,
      isAt: (url) => terminalAt(url) !== null && (root || url.startsWith(`${MOUNT}/`)),
      access: { surface: "opencode", action: "shell" },
      callerOf: (url) => passThrough?.tickets.take(ticketIn(url)) ?? null,
      async connect(upgrade, context) {
        if (passThrough !== null) await connectTerminal(context, passThrough, upgrade);
      },
    },
  };
}

function openContext(
  context: ServerContext & { readonly attachments: string },
  options: OpenCodeOptions,
): OpenCodeContext {
  const { sessions, logger, background, stopped, attachments } = context;
  const views = openSessionViews({ sessions, options, stopped, logger, background });
  const catalogue = openCatalogue(sessions);
  watchDeletions({ views, sessions, background, stopped });
  return {
    ...context,
    views,
    catalogue,
    turns: openTurns({ views }),
    undo: openUndo({ sessions, views, catalogue, attachments, logger, background }),
    streams: openEventStreams({ views }),
    passThrough: openPassThrough({ sessions, logger, announce: views.announce }),
  };
}

const accessTo = (action: Action | undefined): LimitedAccess | "owner" =>
  action === undefined ? "owner" : { surface: "opencode", action };

function mountAt(router: Router, prefix: string, context: OpenCodeContext): void {
  for (const route of openCodeRoutes) {
    const handler = (exchange: AdmittedExchange): Promise<Reply> => answer(exchange, route, context);
    router.add(route.method, prefix + routerPath(route.path), handler, accessTo(route.action));
  }
  router.add("GET", `${prefix}/doc`, () => respond(200, document(openCodeRoutes)), "any");
  for (const { operation, kind, why } of operationTable) {
    const [method = "", path = ""] = operation.split(" ");
    const at = prefix + routerPath(path);
    const passedOn = { operation, handle: null };
    if (kind === "passed") {
      const access = accessTo(passed[operation]?.action);
      router.add(method, at, (exchange) => answer(exchange, passedOn, context), access);
    }
    if (kind === "socket") router.add(method, at, () => respond(426, upgradeRequired(operation)), "any");
    if (kind === "refused") router.add(method, at, () => notImplemented(`${operation}: ${why}`), "any");
  }
  if (prefix === "") return;
  router.add(null, `${prefix}/*`, ({ method, path }) => refuse(`There is no route ${method} ${path}.`), "any");
}

/** A route of ours, or an operation that is only passed on. */
type Answered = OpenCodeRoute | { readonly operation: string; readonly handle: null };

async function answer(exchange: AdmittedExchange, route: Answered, whole: OpenCodeContext): Promise<Reply> {
  const { incoming, outgoing, path, query, params, caller } = exchange;
  const operation = "operation" in route ? route.operation : `${route.method} ${route.path}`;
  const context = { ...whole, ...contextFor(whole, caller), views: viewsFor(whole.views, caller) };
  const call: OpenCodeCall = {
    ...context,
    caller,
    params,
    query,
    rest: restOf(incoming.url ?? "", operation),
    directory: directoryFor({ query, headers: incoming.headers, caller }),
    agent: params.scope?.slice(1) ?? context.sessions.defaultAgent() ?? MOCK,
    incoming,
    outgoing,
    body: (schema) => readBody(incoming, schema, { maxBytes: context.maxBodyBytes }),
  };
  try {
    const there = isOfDisk(operation) ? await fromOtherDisk(call, operation) : null;
    if (there !== null) return there;
    const theirs = await call.passThrough.pass(call, { operation, hasOwn: route.handle !== null });
    if (theirs !== null) return theirs;
    if (route.handle === null) return notImplemented(`${operation} needs OpenCode's own server.`);
    return await toReply(await route.handle(call));
  } catch (error) {
    const known = asApiError(error, { logger: context.logger, path });
    if (outgoing.headersSent) return "sent";
    if (error instanceof MovedDisk) outgoing.setHeader(ELSEWHERE_HEADER, "1");
    const isNext = operation.includes("/api/");
    const { status, body } = isNext
      ? nextErrorBody(known, { params, isRead: incoming.method === "GET" })
      : errorBody(known, params);
    return respond(status, body);
  }
}

async function toReply(given: OpenCodeAnswer): Promise<Reply> {
  if (given === "sent") return "sent";
  if (given === "empty") return { status: 204, headers: {}, body: null };
  if ("bytes" in given) return { status: 200, headers: { "content-type": given.mime }, body: given.bytes };
  if (!("pieces" in given)) return respond(given.status ?? 200, given.json);
  const headers = { "content-type": "application/json", ...given.headers };
  return { status: 200, headers, body: await bodyOf(given.pieces) };
}

/** What stands for `*`, as it was sent: decoding it here would hide what it holds. */
function restOf(url: string, operation: string): string {
  const [, path = ""] = operation.split(" ");
  if (!path.endsWith("/*")) return "";
  const base = path.slice(0, -1);
  const [sent = ""] = url.split("?");
  return sent.slice(sent.indexOf(base) + base.length);
}

const upgradeRequired = (operation: string) => ({
  name: "BadRequest",
  data: { message: `${operation} is a WebSocket.`, kind: "Upgrade" },
});

const refuse = (message: string): Reply => respond(404, { name: "NotFoundError", data: { message } });
