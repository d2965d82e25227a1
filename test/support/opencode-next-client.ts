/** A client of the event streams of OpenCode's newer API. */
import { onTestFinished } from "vitest";

export interface NextHeard {
  /** The stream's own id; null where it has none. */
  readonly at: string | null;
  readonly type: string;
  readonly durable?: { readonly aggregateID: string; readonly seq: number; readonly version: number };
  readonly location?: { readonly directory: string };
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not there.
  readonly data: any;
}

export interface NextListener {
  readonly heard: NextHeard[];
  /** The first event, past or to come, that the check likes. */
  readonly until: (check: (event: NextHeard) => boolean) => Promise<NextHeard>;
  readonly close: () => void;
}

export async function listenNext(url: string, headers: Record<string, string> = {}): Promise<NextListener> {
  const aborted = new AbortController();
  onTestFinished(() => aborted.abort());
  const response = await fetch(url, { signal: aborted.signal, headers });
  const { body } = response;
  if (!response.ok || body === null) throw new Error(`${url} answered ${response.status}`);
  const heard: NextHeard[] = [];
  const waiting = new Set<() => void>();
  const read = async (): Promise<void> => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      const frames = (text + decoder.decode(chunk, { stream: true })).split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) heard.push({ at: /^id: (.*)$/m.exec(frame)?.[1] ?? null, ...JSON.parse(data) });
      }
      for (const look of [...waiting]) look();
    }
  };
  void read().catch(() => undefined);
  return {
    heard,
    close: () => aborted.abort(),
    until: (check) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = heard.find(check);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}
