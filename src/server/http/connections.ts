/** Which connections are in use. Node counts one that has never asked anything as busy, and would wait for it. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface Connections {
  readonly closeIdle: () => void;
  /** How many are open. */
  readonly count: () => number;
}

export function watchConnections(server: Server): Connections {
  const answering = new Map<Socket, number>();
  const change = (socket: Socket, by: number): void => {
    const count = answering.get(socket);
    if (count !== undefined) answering.set(socket, count + by);
  };
  server.on("connection", (socket: Socket) => {
    answering.set(socket, 0);
    socket.on("close", () => answering.delete(socket));
  });
  server.on("request", ({ socket }, outgoing) => {
    change(socket, 1);
    outgoing.on("close", () => change(socket, -1));
  });
  return {
    count: () => answering.size,
    closeIdle: () => {
      for (const [socket, count] of answering) if (count === 0) socket.destroy();
    },
  };
}
