/**
 * OpenCode's own server beside us, started when it is first needed: it answers what is not about a conversation. Of a
 * request only the operation, its parameters and its body reach it; of an answer only what clients need comes back.
 */
import { isShape } from "../../dialects/shape.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentServer, Sessions } from "../../runtime/session/contract.ts";
import { timeoutSignal } from "../../runtime/timeout-signal.ts";
import type { Reply } from "../http/reply.ts";
import { readJson } from "../http/request.ts";
import { passed } from "./pass-through-operations.ts";
import { checkBody, targetOf, trustedDirectory } from "./pass-through-target.ts";
import { holdsRedacted, redacted } from "./redact.ts";
import { notImplemented, type OpenCodeCall } from "./route.ts";
import { openTickets, type Tickets } from "./terminal-tickets.ts";

const AGENT = "opencode";
const REQUEST_MS = 120_000;
const EXIT_MS = 2_000;
const ANSWER_BYTES = 32 * 1024 * 1024;

export interface PassThrough {
  /** OpenCode's answer; null where it is not asked, and the caller may have an answer of its own. */
  readonly pass: (call: OpenCodeCall, request: PassedRequest) => Promise<Reply | null>;
  readonly server: (directory: string) => Promise<AgentServer>;
  readonly tickets: Tickets;
}

export interface PassedRequest {
  /** As in OpenCode's document: `GET /pty/{ptyID}`. */
  readonly operation: string;
  /** Whether Franca has an answer of its own for where there is no such server. */
  readonly hasOwn: boolean;
}

export interface PassThroughOptions {
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly announce: (json: string, where: { readonly directory: string }) => void;
}

export function openPassThrough({ sessions, logger, announce }: PassThroughOptions): PassThrough {
  let current: AgentServer | null = null;
  const tickets = openTickets();
  const onLine = (line: unknown): void => {
    const event = eventIn(line);
    if (event !== null && sessions.trust.isTrusted(event.directory)) announce(event.json, event);
  };
  const server = async (directory: string): Promise<AgentServer> => {
    current = await sessions.agentServer(AGENT, { directory, onLine });
    return current;
  };
  const isRunning = (): boolean => current !== null && !current.gone.aborted;
  return {
    server,
    tickets,
    async pass(call, { operation, hasOwn }) {
      const rule = passed[operation];
      if (rule === undefined) return null;
      const asked = rule.when === "always" || call.agent === AGENT || (rule.when === "running" && isRunning());
      if (!asked) return null;
      try {
        const directory = trustedDirectory(call);
        const body = await bodyOf(call, operation);
        checkBody(body, call);
        const target = { ...call, directory };
        const [method = "", path = ""] = operation.split(" ");
        const url = targetOf(target, path);
        const answer = await ask(await server(directory), { method, url, body, ticket: ticketHeader(call), logger });
        return await shown(answer, { operation, secret: rule.secret === true, tickets });
      } catch (error) {
        if (hasOwn && (hasCode(error, "folder_not_trusted") || hasCode(error, "agent_not_installed"))) return null;
        if (hasCode(error, "agent_not_installed")) return missing(operation);
        throw error;
      }
    },
  };
}

const missing = (operation: string): Reply =>
  notImplemented(`${operation} is answered by OpenCode itself, which is not installed: franca agents install opencode`);

async function bodyOf(call: OpenCodeCall, operation: string): Promise<unknown> {
  if (operation.startsWith("GET ")) return undefined;
  const { "content-length": length = "0", "transfer-encoding": coding } = call.incoming.headers;
  if (length === "0" && coding === undefined) return undefined;
  const body = await readJson(call.incoming, { maxBytes: call.maxBodyBytes, optional: true });
  if (!holdsRedacted(body)) return body;
  throw new ApiError(
    "invalid_request",
    "The body holds a value that was redacted: leave it out, or give the real one.",
  );
}

interface Asking {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly ticket: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

/** By this a page says that it asks for a terminal's ticket on purpose: OpenCode gives none without it. */
function ticketHeader({ incoming }: OpenCodeCall): Readonly<Record<string, string>> {
  return incoming.headers["x-opencode-ticket"] === "1" ? { "x-opencode-ticket": "1" } : {};
}

/** Nothing else of the client's headers goes along: who it is and where it comes from is not OpenCode's business. */
async function ask(
  { url: base, headers, gone }: AgentServer,
  { method, url, body, ticket, logger }: Asking,
): Promise<Response> {
  const hasBody = method !== "GET" && body !== undefined;
  try {
    return await fetch(`${base}${url}`, {
      method,
      headers: { ...headers, ...ticket, ...(hasBody ? { "content-type": "application/json" } : {}) },
      body: hasBody ? JSON.stringify(body) : null,
      redirect: "error",
      signal: timeoutSignal({ signal: gone, ms: REQUEST_MS }),
    });
  } catch (error) {
    logger.warn("opencode.server_unreachable", { error });
    await ended(gone);
    throw new ApiError("stream_error", "OpenCode's server did not answer; it is started again with the next request.");
  }
}

/** Its exit may be known a moment after its connections broke: the next request must not find it again. */
async function ended(gone: AbortSignal): Promise<void> {
  if (gone.aborted) return;
  const given = timeoutSignal({ signal: gone, ms: EXIT_MS });
  await new Promise<void>((resolve) => given.addEventListener("abort", () => resolve(), { once: true }));
}

const kept = ["content-type", "x-next-cursor", "link"];

async function shown(
  answer: Response,
  { operation, secret, tickets }: { operation: string; secret: boolean; tickets: Tickets },
): Promise<Reply> {
  const headers: Record<string, string> = {};
  for (const name of kept) {
    const value = answer.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  // It answers what it does not know with its web page.
  if (headers["content-type"]?.includes("text/html") === true) {
    return notImplemented(`This version of OpenCode does not have ${operation}.`);
  }
  const bytes = await bounded(answer);
  const isTicket = operation.endsWith("/connect-token");
  if (answer.status === 204 || (!secret && !isTicket)) {
    return { status: answer.status, headers, body: answer.status === 204 ? null : bytes };
  }
  const value: unknown = JSON.parse(bytes.toString("utf8"));
  if (isTicket) tickets.note(value);
  return { status: answer.status, headers, body: JSON.stringify(secret ? redacted(value) : value) };
}

async function bounded(answer: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body ?? []) {
    length += chunk.length;
    if (length > ANSWER_BYTES)
      throw new ApiError("stream_error", `OpenCode's answer is longer than ${ANSWER_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What happens to files, language servers, terminals, branches and MCP servers; conversations are ours. */
const merged = /^(file\.watcher|lsp|pty|vcs|mcp)\./;

function eventIn(line: unknown): { readonly directory: string; readonly json: string } | null {
  if (!isShape(line) || !isShape(line.payload) || typeof line.directory !== "string") return null;
  const { type } = line.payload;
  if (typeof type !== "string" || !merged.test(type)) return null;
  return { directory: line.directory, json: JSON.stringify(redacted(line.payload)) };
}
