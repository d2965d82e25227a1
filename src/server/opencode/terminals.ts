/**
 * Terminals by WebSocket. The door has checked Host, Origin and token, or the page shows a ticket that it was given;
 * only then is OpenCode's server asked, by a request that we write ourselves.
 */
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { ApiError } from "../../protocol/errors.ts";
import type { ServerContext } from "../http/route.ts";
import type { PassThrough } from "./pass-through.ts";
import { targetOf, trustedDirectory } from "./pass-through-target.ts";
import { directoryOf } from "./route.ts";
import { refuseOtherDisk } from "./served-directory.ts";

const PATH = /^(?:\/opencode(?:\/@[a-z0-9_-]+)?)?(\/api)?\/pty\/([^/]+)\/connect$/;

/** The terminal that a path names; null for any other path. */
export function terminalAt(url: string): { readonly path: string; readonly ptyID: string } | null {
  const [, api = "", ptyID] = PATH.exec(new URL(url, "http://localhost").pathname) ?? [];
  return ptyID === undefined ? null : { path: `${api}/pty/{ptyID}/connect`, ptyID };
}

/** Of a request that has no token: whether it shows a ticket instead. */
export const ticketIn = (url: string): string => new URL(url, "http://localhost").searchParams.get("ticket") ?? "";

export interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export async function connectTerminal(
  context: Pick<ServerContext, "sessions">,
  passThrough: PassThrough,
  { incoming, socket, head }: Upgrade,
): Promise<void> {
  const url = incoming.url ?? "";
  const terminal = terminalAt(url);
  if (terminal === null) throw new ApiError("not_found", "There is no WebSocket here.");
  const { ptyID, path } = terminal;
  const query = Object.fromEntries(new URL(url, "http://localhost").searchParams);
  const given = directoryOf({ query, headers: incoming.headers });
  await refuseOtherDisk({ directory: given, sessions: context.sessions });
  const directory = trustedDirectory({ directory: given, sessions: context.sessions });
  const target = targetOf({ params: { ptyID }, query, directory }, path);
  const server = await passThrough.server(directory);
  const { hostname, port } = new URL(server.url);
  const upstream = connect({ host: hostname, port: Number(port) }, () => {
    upstream.write(requestTo(target, { host: `${hostname}:${port}`, incoming, headers: server.headers }));
    if (head.length > 0) upstream.write(head);
    upstream.pipe(socket);
    socket.pipe(upstream);
  });
  const end = (): void => {
    upstream.destroy();
    socket.destroy();
  };
  for (const one of [upstream, socket]) one.on("error", end).on("close", end);
  server.gone.addEventListener("abort", end, { once: true });
}

const passedOn = ["sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions"];

/** Header values hold no line break: Node has refused the request otherwise. */
function requestTo(
  target: string,
  { host, incoming, headers }: { host: string; incoming: IncomingMessage; headers: Readonly<Record<string, string>> },
): string {
  const own = passedOn.flatMap((name) => {
    const value = incoming.headers[name];
    return typeof value === "string" ? [`${name}: ${value}`] : [];
  });
  const ours = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const lines = [
    `GET ${target} HTTP/1.1`,
    `Host: ${host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    ...ours,
    ...own,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
