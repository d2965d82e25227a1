/**
 * Open connections. Those that have not shown a credential yet have a small limit of their own: beyond it the oldest is
 * closed. So they cannot take the places of clients that have a credential, however many are opened.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface Connections {
  /** Closes those without a request. Node counts a connection that never sent one as busy, and would wait for it. */
  readonly closeIdle: () => void;
  /** How many are open. */
  readonly count: () => number;
  /** A request on this connection has shown a valid credential. */
  readonly authenticated: (socket: Socket) => void;
}

export interface WatchOptions {
  /** Maximum number of connections that have not shown a credential. */
  readonly unauthenticated: number;
}

export function watchConnections(server: Server, { unauthenticated }: WatchOptions): Connections {
  const answering = new Map<Socket, number>();
  /** The oldest first. */
  const unknown = new Set<Socket>();
  const change = (socket: Socket, by: number): void => {
    const count = answering.get(socket);
    if (count !== undefined) answering.set(socket, count + by);
  };
  server.on("connection", (socket: Socket) => {
    answering.set(socket, 0);
    unknown.add(socket);
    socket.on("close", () => {
      answering.delete(socket);
      unknown.delete(socket);
    });
    const [oldest] = unknown;
    if (unknown.size <= unauthenticated || oldest === undefined) return;
    // Now, not when it has closed: several may come before that.
    unknown.delete(oldest);
    oldest.destroy();
  });
  server.on("request", ({ socket }, outgoing) => {
    change(socket, 1);
    outgoing.on("close", () => change(socket, -1));
  });
  return {
    count: () => answering.size,
    authenticated: (socket) => void unknown.delete(socket),
    closeIdle: () => {
      for (const [socket, count] of answering) if (count === 0) socket.destroy();
    },
  };
}
