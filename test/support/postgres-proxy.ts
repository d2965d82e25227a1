/** A proxy before a server on loopback that tests can stop, or make lose an answer. */
import { connect, createServer, type Socket } from "node:net";

export interface ServerProxy {
  readonly port: number;
  /** While false, nothing passes and no new connection is answered: as in a split network. */
  readonly open: (isOpen: boolean) => void;
  /** The next request with this text reaches the server; instead of its answer the client sees the connection end. */
  readonly loseAnswerTo: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openProxy(target: number): Promise<ServerProxy> {
  const clients = new Set<Socket>();
  let isOpen = true;
  let losing: { readonly text: string; readonly lost: () => void } | null = null;
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let cut: (() => void) | null = null;
    clients.add(client);
    client.on("data", (chunk) => {
      if (!isOpen) return;
      if (losing !== null && chunk.includes(losing.text)) {
        cut = losing.lost;
        losing = null;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (cut !== null) {
        client.destroy();
        cut();
      } else if (isOpen) client.write(chunk);
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
      if (value) for (const client of clients) client.destroy();
    },
    loseAnswerTo: (text) =>
      new Promise<void>((resolve) => {
        losing = { text, lost: resolve };
      }),
    close: () =>
      new Promise<void>((resolve) => {
        for (const client of clients) client.destroy();
        server.close(() => resolve());
      }),
  };
}
