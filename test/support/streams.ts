/** SSE clients for tests: one that counts what it is given and checks its order, and can stop, cut and come back. */
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { openParser } from "../../src/sdk/sse.ts";

export interface Listener {
  /** Sequences, in the order they came. */
  readonly seen: number[];
  /** Resolves when an event of this type was seen. */
  readonly done: Promise<void>;
  readonly close: () => void;
}

export interface ListenOptions {
  readonly url: string;
  readonly session: string;
  readonly until: string;
  /** Cut the connection after so many events and come back. */
  readonly reconnectEvery?: number;
  /** Also when the daemon goes away. */
  readonly persistent?: boolean;
  /** The address may change from one connection to the next. */
  readonly currentUrl?: () => string;
  readonly onEvent?: (sequence: number, data: string) => void;
}

const RETRY_MS = 20;

/** Reads `session`'s stream until an event of type `until`, reconnecting with Last-Event-ID. */
export function listen(options: ListenOptions): Listener {
  const seen: number[] = [];
  let sending: ClientRequest | null = null;
  let over = false;
  let resolve = (): void => {};
  let reject = (_error: Error): void => {};
  const done = new Promise<void>((onDone, onFailure) => {
    resolve = onDone;
    reject = onFailure;
  });

  const connect = (): void => {
    if (over) return;
    const base = options.currentUrl?.() ?? options.url;
    const last = seen.at(-1);
    sending = request(`${base}/v1/sessions/${options.session}/events/sse`, {
      headers: last === undefined ? {} : { "last-event-id": String(last) },
    });
    sending.on("response", read);
    sending.on("error", again);
    sending.end();
  };
  const again = (error: Error): void => {
    if (over) return;
    if (options.persistent === true) setTimeout(connect, RETRY_MS);
    else reject(error);
  };
  const read = (response: IncomingMessage): void => {
    const parse = openParser();
    let here = 0;
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      response.destroy();
      connect();
    };
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      if (left || over) return;
      for (const { id, data } of parse(text)) {
        if (id === null || data === null) continue;
        seen.push(Number(id));
        options.onEvent?.(Number(id), data);
        here += 1;
        if (data.includes(`"type":"${options.until}"`)) {
          over = true;
          response.destroy();
          return resolve();
        }
        if (here === options.reconnectEvery) return leave();
      }
    });
    response.on("error", (error) => {
      if (!left) again(error);
    });
    response.on("end", () => {
      if (!left && !over) again(new Error("The stream ended."));
    });
  };
  connect();
  return {
    seen,
    done,
    close: () => {
      over = true;
      sending?.destroy();
    },
  };
}

/** 1, 2, 3 … n. */
export const isGapless = (seen: readonly number[]): boolean => seen.every((sequence, index) => sequence === index + 1);
