/** A receiver of webhooks on loopback, which can be closed and opened again on its port. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { onTestFinished, vi } from "vitest";

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { readonly id: string; readonly type: string; readonly session_id: string; readonly sequence: number };
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** Ids in the order of their first arrival. */
  readonly ids: () => string[];
  readonly close: () => Promise<void>;
  readonly open: () => Promise<void>;
  /** Resolves when this holds; looked at after each delivery. */
  readonly until: (holds: () => boolean) => Promise<void>;
}

/** `answer` gives the status for a delivery, after it was recorded. */
export async function openReceiver(
  answer: (received: Received) => number | Promise<number> = () => 204,
): Promise<Receiver> {
  const received: Received[] = [];
  let server: Server | null = null;
  let port = 0;
  const open = async (): Promise<void> => {
    const made = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", async () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const one: Received = { headers: request.headers, text, body: JSON.parse(text) };
        received.push(one);
        const status = await answer(one);
        response.writeHead(status, status === 307 ? { location: `http://127.0.0.1:${port}/elsewhere` } : {}).end();
      });
    });
    await new Promise<void>((resolve) => made.listen({ host: "127.0.0.1", port }, resolve));
    const address = made.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
    server = made;
  };
  const close = async (): Promise<void> => {
    const closing = server;
    server = null;
    if (closing === null) return;
    closing.closeAllConnections();
    await new Promise<void>((resolve) => closing.close(() => resolve()));
  };
  await open();
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}/hook/with-a-secret-path?key=secret-query`,
    port,
    received,
    ids: () => [...new Set(received.map(({ body }) => body.id))],
    close,
    open,
    until: async (holds) => void (await vi.waitUntil(holds, { timeout: 20_000, interval: 10 })),
  };
}
