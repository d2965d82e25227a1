/** An answer as data, and how it is written on the node response. */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export type Reply =
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | Uint8Array | AsyncIterable<string> | null;
    }
  /** The handler has written on the node response itself. */
  | "sent";

/** Whole where it is one piece; what comes in pieces is written as fast as the client takes it. */
export async function write(outgoing: ServerResponse, reply: Reply): Promise<void> {
  if (reply === "sent") return;
  const { status, headers, body } = reply;
  if (body === null) outgoing.writeHead(status, headers).end();
  else if (typeof body === "string" || body instanceof Uint8Array) {
    outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
  } else {
    outgoing.writeHead(status, headers);
    // A client that left is no failure; one that is still there sees that the rest is missing.
    await pipeline(Readable.from(body), outgoing).catch(() => outgoing.destroy());
  }
}
