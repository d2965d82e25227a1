/** The few requests the measurements make, and a reader of SSE that hands out the frames. */
import { Agent, get, type IncomingMessage, request } from "node:http";

// One connection for all requests, as a client library keeps it; `fetch` would be measured more than the server.
const agent = new Agent({ keepAlive: true });

type Headers = Readonly<Record<string, string>>;

export function send(method: string, url: string, body?: object | string, headers: Headers = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () =>
        (response.statusCode ?? 500) < 400 ? resolve(text) : reject(new Error(`${method} ${url}: ${text}`)),
      );
    });
    // A server ends connections that nobody uses, sometimes just when one is used again: then nothing was read.
    outgoing.on("error", (error) => {
      const isStale = outgoing.reusedSocket && "code" in error && error.code === "ECONNRESET";
      if (isStale) resolve(send(method, url, body, headers));
      else reject(error);
    });
    outgoing.setHeader("content-type", "application/json");
    outgoing.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
  });
}

export const post = (url: string, body: object, headers: Headers = {}): Promise<string> =>
  send("POST", url, body, headers);

/** The session's last sequence, once nothing runs any more. */
export async function idleAt(session: string, headers: Headers = {}): Promise<number> {
  for (;;) {
    const answer = await send("GET", `${session}?limit=0`, undefined, headers);
    const detail: { status: string; lastSequence: number } = JSON.parse(answer);
    if (detail.status === "idle") return detail.lastSequence;
  }
}

export interface Frames {
  readonly close: () => void;
}

/** Resolves when the server has begun to answer. `onChunk` hears the bytes as they come. */
export function openStream(
  url: string,
  onChunk: (chunk: Buffer) => void,
  headers: Readonly<Record<string, string>> = {},
): Promise<Frames> {
  return new Promise((resolve, reject) => {
    const outgoing = get(url, { agent: false, headers }, (response: IncomingMessage) => {
      if (response.statusCode !== 200) return reject(new Error(`${url} answered ${response.statusCode}`));
      response.on("data", onChunk);
      response.on("error", () => {});
      resolve({ close: () => void response.destroy() });
    });
    outgoing.on("error", reject);
  });
}
