/** A listener on the OpenCode surface for tests: collects events, waits for the one it wants, keeps the ids. */
import { onTestFinished } from "vitest";
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";

export interface Heard {
  readonly id: string | null;
  readonly event: OpenCodeEvent;
  /** On `/global/event` only. */
  readonly directory?: string;
}

export interface Listener {
  readonly heard: Heard[];
  /** The first event, past or to come, that the check likes. */
  readonly until: (check: (event: OpenCodeEvent) => boolean) => Promise<OpenCodeEvent>;
  readonly close: () => void;
}

export interface ListenOptions {
  readonly directory?: string;
  readonly after?: string;
  readonly path?: string;
}

export async function listen(
  base: string,
  { directory, after, path = "/event" }: ListenOptions = {},
): Promise<Listener> {
  const aborted = new AbortController();
  onTestFinished(() => aborted.abort());
  const query = directory === undefined ? "" : `?directory=${encodeURIComponent(directory)}`;
  const response = await fetch(`${base}${path}${query}`, {
    signal: aborted.signal,
    headers: after === undefined ? {} : { "last-event-id": after },
  });
  if (!response.ok || response.body === null) throw new Error(`${path} answered ${response.status}`);
  const heard: Heard[] = [];
  const waiting = new Set<() => void>();
  void read(response.body, (one) => {
    heard.push(one);
    for (const look of [...waiting]) look();
  }).catch(() => undefined);
  return {
    heard,
    close: () => aborted.abort(),
    until: (check) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = heard.find(({ event }) => check(event));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found.event);
        };
        waiting.add(look);
        look();
      }),
  };
}

async function read(body: ReadableStream<Uint8Array>, tell: (heard: Heard) => void): Promise<void> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const id = /^id: (.*)$/m.exec(frame)?.[1] ?? null;
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data === undefined) continue;
      const value = JSON.parse(data);
      tell("payload" in value ? { id, event: value.payload, directory: value.directory } : { id, event: value });
    }
  }
}

export const isIdle =
  (session: string) =>
  (event: OpenCodeEvent): boolean =>
    event.type === "session.idle" && event.properties.sessionID === session;

export interface Api {
  readonly get: (path: string) => Promise<Reply>;
  readonly post: (path: string, body?: unknown) => Promise<Reply>;
  readonly call: (method: string, path: string, body?: unknown) => Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not there.
  readonly body: any;
}

export function openCodeApi(
  base: string,
  { directory, headers = {} }: { directory: string; headers?: Record<string, string> },
): Api {
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await fetch(base + path, {
      method,
      headers: {
        "x-opencode-directory": encodeURIComponent(directory),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  };
  return { call, get: (path) => call("GET", path), post: (path, body) => call("POST", path, body) };
}
