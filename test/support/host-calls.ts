/** Two hosts on one database, of which the first has a folder, and what may stand at the first one's URL. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { DaemonOptions } from "../../src/server/compose.ts";
import { digestOf, requestDigest, type SignedCall } from "../../src/server/http/host-key.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { temporaryFolder } from "./folders.ts";
import { openBeside } from "./opencode-beside.ts";
import { databaseOf, urlOf } from "./postgres.ts";
import { TOKEN } from "./postgres-hosts.ts";

export interface TwoHosts {
  /** The folder of a session of the first host, which it trusts and the other does not. */
  readonly directory: string;
  readonly one: TestDaemon;
  readonly two: TestDaemon;
  readonly ids: { readonly one: string; readonly two: string };
  readonly databaseUrl: string;
}

export const token = { authorization: `Bearer ${TOKEN}` };

/** The first one may have something like OpenCode's server beside it. */
export async function openTwoHosts({
  directory = temporaryFolder(),
  beside = false,
  ...first
}: Partial<DaemonOptions> & { readonly directory?: string; readonly beside?: boolean } = {}): Promise<TwoHosts> {
  withoutUserConfig();
  const databaseUrl = urlOf(await databaseOf(temporaryFolder()));
  const options = (): Partial<DaemonOptions> => ({
    ...{ store: "postgres", databaseUrl, token: TOKEN, data: join(temporaryFolder(), "data") },
  });
  const own = { ...options(), trustedFolders: [directory], ...first };
  const one = beside ? (await openBeside(own)).daemon : await startDaemon(own);
  const two = await startDaemon({ ...options(), trustedFolders: [] });
  await two.client.create({ id: "elsewhere", agent: "mock", directory: temporaryFolder() });
  await one.client.create({ id: "s", agent: "mock", directory });
  const [a, b] = [await idOf(one), await idOf(two)];
  return { directory, one, two, ids: { one: a, two: b }, databaseUrl };
}

/** OpenCode's configuration of the person who runs the tests stays out of them. */
function withoutUserConfig(): void {
  const before = process.env.XDG_CONFIG_HOME;
  process.env.XDG_CONFIG_HOME = temporaryFolder();
  onTestFinished(() => {
    if (before === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = before;
  });
}

async function idOf({ url }: TestDaemon): Promise<string> {
  const text = await (await fetch(`${url}/v1/hosts`, { headers: token })).text();
  const { hosts }: { hosts: { id: string; self: boolean }[] } = JSON.parse(text);
  return hosts.find(({ self }) => self)?.id ?? "";
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
}

/** Sends exactly these headers. */
export function ask(
  url: string,
  options: { method?: string; path: string; headers?: Readonly<Record<string, string>>; body?: string },
): Promise<Answer> {
  const { method = "GET", path, headers = token, body } = options;
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
      buffer(answer).then(
        (bytes) => resolve({ status: answer.statusCode ?? 0, body: bytes.toString("utf8"), headers: answer.headers }),
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body, "latin1");
  });
}

export const at = (path: string, directory: string): string =>
  `/opencode${path}${path.includes("?") ? "&" : "?"}directory=${encodeURIComponent(directory)}`;

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Each character a byte. */
  readonly body: string;
}

export interface Stranger {
  readonly url: string;
  readonly heard: Heard[];
  /** What it does with the next requests; it says nothing until then. */
  act: (heard: Heard, outgoing: ServerResponse) => unknown;
}

/** Something that listens at a host's URL, and is not that host. */
export async function openStranger(): Promise<Stranger> {
  const server = createServer((incoming, outgoing) => {
    void buffer(incoming).then((bytes) => {
      const { method = "", url: path = "" } = incoming;
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const heard = { method, path, headers, body: bytes.toString("latin1") };
      stranger.heard.push(heard);
      Promise.resolve(stranger.act(heard, outgoing)).catch(() => outgoing.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => void server.close().closeAllConnections());
  const { port }: AddressInfo = Object(server.address());
  const stranger: Stranger = { url: `http://127.0.0.1:${port}`, heard: [], act: () => undefined };
  return stranger;
}

/** Passes a request on as it came, and its answer back. */
export async function passOn(url: string, heard: Heard, outgoing: ServerResponse): Promise<void> {
  const { status, headers, body } = await ask(url, heard);
  const proof = headers["franca-host-answer"];
  const type = headers["content-type"];
  if (typeof proof === "string") outgoing.setHeader("franca-host-answer", proof);
  outgoing.writeHead(status, { "content-type": type ?? "" }).end(body);
}

let count = 0;

/** A call as a host would sign it, with whatever a test wants otherwise. */
export function signed(request: Pick<Heard, "method" | "path" | "body">, more: Partial<SignedCall>): SignedCall {
  count += 1;
  const { method, path: target, body } = request;
  return {
    ...{ from: "somebody", to: "", epoch: 1, time: Date.now(), nonce: `a nonce of a test ${count}` },
    ...{ request: requestDigest({ method, target }), bytes: Buffer.byteLength(body), body: digestOf(body) },
    ...more,
  };
}
