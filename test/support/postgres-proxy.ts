/** A proxy before a server on loopback that tests can stop, or make lose an answer. */
import { connect, createServer, type Socket } from "node:net";

export interface ServerProxy {
  readonly port: number;
  /** While false, nothing passes and no new connection is answered: as in a split network. */
  readonly open: (isOpen: boolean) => void;
  /** The next request with this text reaches the server; instead of its answer the client sees the connection end. */
  readonly loseAnswerTo: (text: string) => Promise<void>;
  /** Each connection, new ones too, ends after so many more bytes as are drawn for it; null: none any more. */
  readonly cut: (draw: (() => number) | null) => void;
  readonly close: () => Promise<void>;
}

export async function openProxy(target: number): Promise<ServerProxy> {
  /** With the bytes that may still pass. */
  const clients = new Map<Socket, { left: number }>();
  let draw: (() => number) | null = null;
  let isOpen = true;
  let losing: { readonly text: string; readonly lost: () => void } | null = null;
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let cut: (() => void) | null = null;
    const limit = { left: draw?.() ?? Number.POSITIVE_INFINITY };
    clients.set(client, limit);
    const pass = (to: Socket, chunk: Buffer): void => {
      to.write(chunk.subarray(0, limit.left));
      limit.left -= chunk.length;
      if (limit.left < 0) client.destroy();
    };
    client.on("data", (chunk) => {
      if (!isOpen) return;
      if (losing !== null && chunk.includes(losing.text)) {
        cut = losing.lost;
        losing = null;
      }
      pass(upstream, chunk);
    });
    upstream.on("data", (chunk) => {
      if (cut !== null) {
        client.destroy();
        cut();
      } else if (isOpen) pass(client, chunk);
    });
    const end = (): void => {
      clients.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port.");
  return {
    port: address.port,
    open(value) {
      isOpen = value;
      // What was swallowed cannot be continued.
      if (value) for (const client of clients.keys()) client.destroy();
    },
    cut(next) {
      draw = next;
      for (const limit of clients.values()) limit.left = next?.() ?? Number.POSITIVE_INFINITY;
    },
    loseAnswerTo: (text) =>
      new Promise<void>((resolve) => {
        losing = { text, lost: resolve };
      }),
    close: () =>
      new Promise<void>((resolve) => {
        for (const client of clients.keys()) client.destroy();
        server.close(() => resolve());
      }),
  };
}
