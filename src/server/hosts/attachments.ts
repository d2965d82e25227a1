/** Files that come with a prompt are kept on the disk of the session's host, which another host asks to keep them. */
import type { ServerResponse } from "node:http";
import * as z from "zod";
import { ApiError } from "../../protocol/errors.ts";
import { SessionId } from "../../protocol/id-schemas.ts";
import type { SessionId as Id } from "../../protocol/ids.ts";
import { type Content, keepFile } from "../http/attachment-files.ts";
import { problemReply } from "../http/problem.ts";
import type { Reply } from "../http/reply.ts";
import { check, readBytes } from "../http/request.ts";
import type { ServerContext } from "../http/route.ts";
import type { Exchange } from "../http/router.ts";
import { noRoute, type Surface } from "../http/server.ts";
import { askHost, jsonOf, leaving } from "./call.ts";

const ROUTE = "/hosts/attachments/:session";

interface Keeping extends Pick<ServerContext, "sessions" | "hostCalls" | "attachments"> {
  readonly outgoing: ServerResponse;
}

const Kept = z.object({ path: z.string() });

/** Gives the path on the disk of the session's host. Where that one is gone, this one may be the next. */
export async function keepForSession(
  { sessions, hostCalls, attachments, outgoing }: Keeping,
  { content, session }: { readonly content: Content; readonly session: Id },
): Promise<string> {
  const host = await sessions.homeOf(session);
  if (host === null || hostCalls === null || !host.alive) return keepFile(content, { attachments, session });
  const target = `${ROUTE.replace(":session", encodeURIComponent(session))}?${new URLSearchParams({ mime: content.mime })}`;
  const headers = { "content-type": "application/octet-stream" };
  const request = { method: "POST", target, headers, body: content.bytes };
  const answer = await askHost({ calls: hostCalls, host, request, signal: leaving(outgoing) });
  return check(Kept, await jsonOf(answer), { where: "The answer of the session's host" }).path;
}

/** For other hosts alone: clients send files with their prompts. */
export const attachmentSurface: Surface = {
  name: "hosts",
  hostRoutes: new Set([`POST ${ROUTE}`]),
  mount: (router, context) => router.add("POST", ROUTE, (exchange) => keep(exchange, context)),
};

async function keep(exchange: Exchange, context: ServerContext): Promise<Reply> {
  const { incoming, params, query } = exchange;
  const { sessions, hostCalls, attachments, maxBodyBytes: maxBytes } = context;
  if (hostCalls?.taken(incoming) == null) return problemReply(noRoute(exchange));
  const session = check(SessionId, params.session ?? "", { where: "The session id" });
  // Nothing is written for a session that does not exist.
  await sessions.get(session, { limit: 0 });
  if ((await sessions.homeOf(session)) !== null) {
    throw new ApiError("host_unavailable", `Session ${session} went to another host meanwhile: try again in a moment.`);
  }
  const bytes = await readBytes(incoming, { maxBytes });
  const path = await keepFile({ bytes, mime: query.mime ?? "" }, { attachments, session });
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify({ path }) };
}
