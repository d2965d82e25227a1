/**
 * Terminals by WebSocket. The door has checked Host, Origin and token, or the page shows a ticket that it was given;
 * only then is OpenCode's server asked, or the host that has the directory, by a request that we write ourselves.
 */
import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError } from "../../protocol/errors.ts";
import type { DiskHost } from "../../runtime/log/hosts-contract.ts";
import { type Answered, answerTo, openCall, stranger, unreachableHost } from "../hosts/call.ts";
import type { HostCalls } from "../http/host-calls.ts";
import type { ServerContext } from "../http/route.ts";
import { otherDisk, targetThere } from "./other-disk.ts";
import type { PassThrough } from "./pass-through.ts";
import { targetOf, trustedDirectory } from "./pass-through-target.ts";
import { directoryOf } from "./route.ts";

const PATH = /^(?:\/opencode(?:\/(@[a-z0-9_-]+))?)?(\/api)?\/pty\/([^/]+)\/connect$/;

interface NamedTerminal {
  readonly path: string;
  readonly ptyID: string;
  readonly scope: string | null;
}

/** The terminal that a path names; null for any other path. */
export function terminalAt(url: string): NamedTerminal | null {
  const [, scope = null, api = "", ptyID] = PATH.exec(new URL(url, "http://localhost").pathname) ?? [];
  return ptyID === undefined ? null : { path: `${api}/pty/{ptyID}/connect`, ptyID, scope };
}

/** Of a request that has no token: whether it shows a ticket instead. */
export const ticketIn = (url: string): string => new URL(url, "http://localhost").searchParams.get("ticket") ?? "";

export interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

type Context = Pick<ServerContext, "sessions" | "hostCalls">;

export async function connectTerminal(context: Context, passThrough: PassThrough, upgrade: Upgrade): Promise<void> {
  const { incoming, socket } = upgrade;
  const url = incoming.url ?? "";
  const terminal = terminalAt(url);
  if (terminal === null) throw new ApiError("not_found", "There is no WebSocket here.");
  const { ptyID, path, scope } = terminal;
  const query = Object.fromEntries(new URL(url, "http://localhost").searchParams);
  const given = directoryOf({ query, headers: incoming.headers });
  const left = new AbortController();
  socket.on("close", () => left.abort());
  const host = await otherDisk({ ...context, directory: given, incoming });
  if (host !== null && context.hostCalls !== null) {
    const call = { params: { ptyID, ...(scope === null ? {} : { scope }) }, query, directory: given, rest: "" };
    const target = targetThere(call, `GET ${path}`);
    const { hostCalls: calls } = context;
    return join(upgrade, await connectThere({ calls, host, incoming, target, signal: left.signal }));
  }
  const directory = trustedDirectory({ directory: given, sessions: context.sessions });
  const target = targetOf({ params: { ptyID }, query, directory }, path);
  const server = await passThrough.server(directory);
  const { hostname, port } = new URL(server.url);
  const headers = { ...server.headers, ...socketHeaders(incoming) };
  const signal = AbortSignal.any([left.signal, server.gone]);
  const outgoing = request({ hostname, port, path: target, headers, signal, agent: false });
  // `answerTo` reports it. Without a handler, an error event ends the daemon.
  outgoing.on("error", () => {});
  outgoing.end();
  const answered = await answerTo(outgoing).catch((cause: unknown) => {
    throw new ApiError("stream_error", "OpenCode's server did not answer.", { cause });
  });
  join(upgrade, answered, context.hostCalls?.taken(incoming) ?? {});
  server.gone.addEventListener("abort", () => socket.destroy(), { once: true });
}

interface There {
  readonly calls: HostCalls;
  readonly host: DiskHost;
  readonly incoming: IncomingMessage;
  readonly target: string;
  readonly signal: AbortSignal;
}

async function connectThere({ calls, host, incoming, target, signal }: There): Promise<Answered> {
  const headers = socketHeaders(incoming);
  const asked = { method: "GET", target, headers, body: new Uint8Array(0) };
  const { outgoing, call } = await openCall({ calls, host, request: asked, signal });
  outgoing.end();
  const answered = await answerTo(outgoing).catch((cause: unknown) => {
    throw unreachableHost(host, cause);
  });
  if (answered.upstream === null || call.isAnswered(answered.answer)) return answered;
  answered.upstream.socket.destroy();
  throw stranger(host, answered.answer);
}

const asked = ["sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions"];
const given = ["sec-websocket-accept", "sec-websocket-protocol", "sec-websocket-extensions"];

const socketHeaders = (incoming: IncomingMessage): Record<string, string> => ({
  connection: "Upgrade",
  upgrade: "websocket",
  ...only(asked, incoming),
});

function only(names: readonly string[], { headers }: IncomingMessage): Record<string, string> {
  const found = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  return Object.fromEntries(found);
}

/** From here on bytes go both ways, until either end leaves. Header values hold no line break: Node has read them. */
function join({ socket, head }: Upgrade, { answer, upstream }: Answered, more: Readonly<Record<string, string>> = {}) {
  const status = answer.statusCode ?? 502;
  if (upstream === null) {
    answer.destroy();
    const closed = "Connection: close\r\nContent-Length: 0\r\n\r\n";
    if (socket.writable) socket.end(`HTTP/1.1 ${status} Refused\r\n${closed}`);
    return;
  }
  const headers = { connection: "Upgrade", upgrade: "websocket", ...only(given, answer), ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${["HTTP/1.1 101 Switching Protocols", ...lines].join("\r\n")}\r\n\r\n`);
  socket.write(upstream.first);
  upstream.socket.write(head);
  const end = (): void => {
    upstream.socket.destroy();
    socket.destroy();
  };
  for (const one of [upstream.socket, socket]) one.on("error", end).on("close", end);
  upstream.socket.pipe(socket);
  socket.pipe(upstream.socket);
}
