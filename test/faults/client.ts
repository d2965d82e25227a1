/** Clients under test: one that keeps up and comes back where it was cut, and one that never reads. */
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as after } from "node:timers/promises";
import { openParser } from "../../src/sdk/sse.ts";

export interface FaultClient {
  readonly path: string;
  /** What was received, in order: the cursor and the event as it came. */
  readonly received: readonly Received[];
  /** Ends the connection after so many more bytes, wherever that is; the client comes back by itself. */
  readonly cutAfter: (bytes: number) => void;
  /** How often that has happened. */
  readonly cuts: () => number;
  readonly close: () => void;
}

export interface Received {
  readonly cursor: string;
  readonly data: string;
}

export interface ClientOptions {
  readonly url: () => string;
  readonly path: string;
  readonly onEvent: () => void;
  /** How soon it comes back. */
  readonly retryMs?: number;
}

const RETRY_MS = 15;

export function openClient({ url, path, onEvent, retryMs = RETRY_MS }: ClientOptions): FaultClient {
  const received: Received[] = [];
  let request: ClientRequest | null = null;
  let budget = Number.POSITIVE_INFINITY;
  let cursor: string | null = null;
  let isOpen = true;
  let cuts = 0;

  const read = (response: IncomingMessage, again: () => void): void => {
    const parse = openParser();
    // Frames without an id belong to the event of the next one that has an id.
    let frames: string[] = [];
    const decoder = new StringDecoder("utf8");
    if (response.statusCode !== 200) {
      response.resume();
      response.once("close", again);
      return;
    }
    response.on("data", (bytes: Buffer) => {
      // The rest of what the socket had already read still comes after the cut.
      if (response.destroyed) return;
      const taken = bytes.subarray(0, Math.min(bytes.length, budget));
      budget -= taken.length;
      // A cut may fall inside a character: what follows it is never read on this connection.
      for (const { id, data } of parse(decoder.write(taken))) {
        if (id !== null) cursor = id;
        if (data !== null) frames.push(data);
        if (id === null || frames.length === 0) continue;
        for (const frame of frames) received.push({ cursor: id, data: frame });
        frames = [];
        onEvent();
      }
      if (budget > 0) return;
      budget = Number.POSITIVE_INFINITY;
      cuts += 1;
      response.destroy();
    });
    response.on("error", () => {});
    response.once("close", again);
  };
  const connect = (): void => {
    let isOver = false;
    const again = async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      await after(retryMs, undefined, { ref: false });
      if (isOpen) connect();
    };
    const headers = cursor === null ? {} : { "last-event-id": cursor };
    request = get(`${url()}${path}`, { headers, agent: false }, (response) => read(response, () => void again()));
    request.on("error", () => void again());
  };
  connect();
  return {
    path,
    received,
    cuts: () => cuts,
    cutAfter: (bytes) => {
      budget = bytes;
    },
    close: () => {
      isOpen = false;
      request?.destroy();
    },
  };
}

/** Opens a stream and takes nothing from it. */
export function openSleeper(url: string): { readonly close: () => void } {
  const request = get(url, { agent: false }, (response) => response.pause().on("error", () => {}));
  request.on("error", () => {});
  return { close: () => void request.destroy() };
}
