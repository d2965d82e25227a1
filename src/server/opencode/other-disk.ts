/**
 * Files, searches, changes and terminals are answered by the host whose disk the directory is on. What comes from
 * another host is answered here or refused: it is never passed on again.
 */
import { existsSync } from "node:fs";
import { isShape } from "../../dialects/shape.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { DiskHost } from "../../runtime/log/hosts-contract.ts";
import { askHost, headersOf, leaving, pieces, relay } from "../hosts/call.ts";
import { ELSEWHERE_HEADER } from "../http/host-calls.ts";
import type { Reply } from "../http/reply.ts";
import { readBytes } from "../http/request.ts";
import { pathOf } from "./next-files.ts";
import { targetOf } from "./pass-through-target.ts";
import type { OpenCodeCall } from "./route.ts";

/** What hosts ask each other for, and nothing else. */
export const isOfDisk = (operation: string): boolean =>
  /^\S+ (?:\/api)?\/(?:file|find|fs|vcs|pty|project\/current$)(?:\/|$)/.test(operation);

/** How often a folder that is given to another host in between is looked for. */
const ATTEMPTS = 2;
const TICKET_BYTES = 64 * 1024;

/** The answer of the host that has the directory; null where it is this one. */
export async function fromOtherDisk(call: OpenCodeCall, operation: string): Promise<Reply | null> {
  let body: Buffer | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const host = await otherDisk(call);
    if (host === null || call.hostCalls === null) return null;
    body ??= await readBytes(call.incoming, { maxBytes: call.maxBodyBytes });
    const [method = ""] = operation.split(" ");
    const request = { method, target: targetThere(call, operation), headers: headersTo(call, body), body };
    const answer = await askHost({ calls: call.hostCalls, host, request, signal: leaving(call.outgoing) });
    if (answer.headers[ELSEWHERE_HEADER] !== undefined && attempt < ATTEMPTS) answer.destroy();
    else return answered(call, { operation, answer });
  }
}

/** The other host that has the directory; null where it is this one's. A folder that this host trusts is its own. */
export async function otherDisk({
  directory,
  sessions,
  incoming,
  hostCalls,
}: Pick<OpenCodeCall, "directory" | "sessions" | "incoming" | "hostCalls">): Promise<DiskHost | null> {
  if (sessions.trust.isTrusted(directory) && existsSync(directory)) return null;
  const host = await sessions.diskOf(directory);
  if (host === null || hostCalls?.taken(incoming) == null) return host;
  throw new MovedDisk(`${directory} is not on this host any more, but on host ${host.id}: try again in a moment.`);
}

/** Of a call by another host: nothing was done, and the caller may look for the directory again. */
export class MovedDisk extends ApiError {
  constructor(message: string) {
    super("host_unavailable", message);
  }
}

type Named = Pick<OpenCodeCall, "params" | "query" | "directory" | "rest">;

/** Made from the operation's own path, never from the client's. */
export function targetThere(call: Named, operation: string): string {
  const { scope } = call.params;
  const [, path = ""] = operation.split(" ");
  const [filled = "", query = ""] = targetOf(call, path).split("?");
  const rest = path.endsWith("/*") ? pathOf(call.rest).split("/").map(encodeURIComponent).join("/") : null;
  const at = rest === null ? filled : `${filled.slice(0, -1)}${rest}`;
  return `/opencode${scope === undefined ? "" : `/${scope}`}${at}?${query}`;
}

/** The client's credentials, cookies and origin stay here. */
function headersTo({ incoming }: OpenCodeCall, body: Uint8Array): Record<string, string> {
  return {
    ...(body.length === 0 ? {} : { "content-type": "application/json" }),
    ...(incoming.headers["x-opencode-ticket"] === "1" ? { "x-opencode-ticket": "1" } : {}),
  };
}

async function answered(
  { outgoing, passThrough, caller }: OpenCodeCall,
  { operation, answer }: { readonly operation: string; readonly answer: Awaited<ReturnType<typeof askHost>> },
): Promise<Reply> {
  if (!operation.endsWith("/connect-token")) {
    await relay(answer, outgoing);
    return "sent";
  }
  // A page shows the ticket to the host that it knows, which is this one.
  let text = "";
  for await (const piece of pieces(answer)) {
    text += String(piece);
    if (text.length > TICKET_BYTES) throw new ApiError("stream_error", "The answer with the ticket is too long.");
  }
  if (answer.statusCode === 200) passThrough.tickets.note(jsonIn(text), caller);
  return { status: answer.statusCode ?? 502, headers: headersOf(answer), body: text };
}

function jsonIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isShape(value) ? value : null;
  } catch {
    return null;
  }
}
