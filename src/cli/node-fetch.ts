/** A fetch for commands that ask a daemon a few things: Node's own takes longer to load than a short turn takes. */
import type { IncomingMessage } from "node:http";
import type { FetchAnswer, FetchInit } from "../sdk/fetch.ts";

/** Follows no redirect: a daemon sends none. */
export async function nodeFetch(url: string, init: FetchInit = {}): Promise<FetchAnswer> {
  try {
    const response = await answered(url, init);
    const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
    // What nobody reads would keep the process from ending.
    const text = isStream ? null : await textOf(response);
    const { statusCode: status = 0 } = response;
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: { get: (name) => headerOf(response, name) },
      body: text === null ? { getReader: () => readerOf(response) } : null,
      text: async () => text ?? textOf(response),
    };
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new TypeError("fetch failed", { cause: error });
  }
}

async function answered(url: string, { method = "GET", headers = {}, body, signal }: FetchInit) {
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  return new Promise<IncomingMessage>((resolve, reject) => {
    const asking = request(url, { method, headers, ...(signal ? { signal } : {}) }, resolve);
    asking.once("error", reject);
    asking.end(body ?? undefined);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const piece of response) text += piece;
  return text;
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return typeof value === "string" ? value : null;
}

function readerOf(response: IncomingMessage) {
  const pieces: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]();
  return {
    read: () => pieces.next(),
    cancel: async () => void response.destroy(),
  };
}
