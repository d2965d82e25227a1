/** A relay before a real OpenCode server: its event streams can be cut while everything else goes through. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { OpenCodeLab } from "./opencode-lab.ts";

export interface CuttableServer {
  /** The address to give to a session. */
  readonly url: string;
  /** Ends every event stream right after its first event of this type, and lets none be opened until `mend`. */
  readonly cutAfter: (type: string) => void;
  readonly mend: () => void;
  /** Resolves when the server has said this many events of a type, cut or not. */
  readonly said: (type: string, count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A server of its own behind a relay whose event streams can be cut while everything else goes through. */
export async function cuttableServer({ program, environment }: OpenCodeLab): Promise<CuttableServer> {
  const child = spawn(program, ["serve", "--port", "0", "--hostname", "127.0.0.1"], {
    env: { PATH: process.env.PATH ?? "", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const upstream = new URL(await listening(child));
  const watch = await watchEvents(upstream);
  let cutAfter: string | null = null;
  let isCut = false;
  const relay = createServer((incoming, outgoing) => {
    const isStream = incoming.url?.startsWith("/global/event") === true;
    if (isStream && isCut) return void outgoing.destroy();
    const { method, url, headers } = incoming;
    const options = { host: upstream.hostname, port: upstream.port, path: url, method, headers };
    const forwarded = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      if (isStream) relayStream(answer, outgoing);
      else answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  const relayStream = (answer: IncomingMessage, outgoing: ServerResponse): void => {
    answer.on("error", () => outgoing.destroy());
    answer.setEncoding("utf8");
    outgoing.flushHeaders();
    let rest = "";
    answer.on("data", (text: string) => {
      const events = (rest + text).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        if (outgoing.writableEnded) return;
        outgoing.write(`${event}\n\n`);
        if (cutAfter === null || !event.includes(`"type":"${cutAfter}"`)) continue;
        isCut = true;
        // What was written must still get there.
        outgoing.end();
        return;
      }
    });
  };
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  return {
    url: `http://127.0.0.1:${addressOf(relay.address()).port}`,
    said: watch.said,
    cutAfter(type) {
      cutAfter = type;
    },
    mend() {
      cutAfter = null;
      isCut = false;
    },
    async close() {
      watch.close();
      relay.closeAllConnections();
      relay.close();
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** Our own eyes on the server's events, beside the relay. */
async function watchEvents(url: URL): Promise<Pick<CuttableServer, "said"> & { readonly close: () => void }> {
  const counts = new Map<string, number>();
  const waiting = new Set<() => void>();
  const sending = request(new URL("/global/event", url)).end();
  const [answer] = await once(sending, "response");
  // The server is ended before its stream is, which is no failure.
  answer.on("error", () => {});
  sending.on("error", () => {});
  const reader = createInterface({ input: answer });
  reader.on("error", () => {});
  reader.on("line", (line) => {
    const type = /"payload":\{"id":"[^"]*","type":"([^"]+)"/.exec(line)?.[1];
    if (type === undefined) return;
    counts.set(type, (counts.get(type) ?? 0) + 1);
    for (const wake of waiting) wake();
  });
  return {
    said: (type, count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if ((counts.get(type) ?? 0) < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () => void sending.destroy(),
  };
}

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (typeof address !== "object" || address === null) throw new Error("The relay has no address.");
  return address;
}

async function listening(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("The server's output cannot be read.");
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listening on (http\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("The server ended before it listened.");
}
