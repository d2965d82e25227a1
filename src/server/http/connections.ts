/**
 * Open connections. Those that are not authenticated yet have a small limit of their own: beyond it the oldest is
 * closed. However many are opened, they cannot displace authenticated clients.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface Connections {
  /** Closes those without a request. Node counts a connection that never sent one as busy, and would wait for it. */
  readonly closeIdle: () => void;
  /** How many are open. */
  readonly count: () => number;
  /** Marks a connection as authenticated, after a request with a valid credential. */
  readonly authenticated: (socket: Socket) => void;
}

export interface WatchOptions {
  /** Maximum number of unauthenticated connections. */
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
