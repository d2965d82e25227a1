/** Reads a stream of server-sent events: bounded lines, several data lines joined, comments passed over. */
import { splitLines } from "../lines.ts";

export interface ServerEvent {
  readonly id: string | null;
  readonly data: string;
}

export interface ServerEventsOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly lastEventId: string | null;
  readonly signal: AbortSignal;
  /** The server has answered: from here on nothing is missed. */
  readonly onOpen: () => void;
}

export async function* readServerEvents(options: ServerEventsOptions): AsyncGenerator<ServerEvent> {
  const { url, headers, lastEventId, signal, onOpen } = options;
  const response = await fetch(url, {
    headers: {
      ...headers,
      accept: "text/event-stream",
      ...(lastEventId === null ? {} : { "last-event-id": lastEventId }),
    },
    signal,
  });
  if (!response.ok || response.body === null) throw new Error(`it answered ${response.status}`);
  onOpen();

  let ready: ServerEvent[] = [];
  let data: string[] = [];
  let id: string | null = null;
  const finish = (): void => {
    if (data.length > 0) ready.push({ id, data: data.join("\n") });
    data = [];
  };
  const splitter = splitLines({
    keepBlank: true,
    onLine(raw) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") finish();
      else if (line.startsWith("data:")) data.push(value(line, "data:"));
      else if (line.startsWith("id:")) id = value(line, "id:");
    },
    onOverlong: ({ excerpt }) => data.push(excerpt),
  });
  for await (const chunk of response.body) {
    splitter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    const events = ready;
    ready = [];
    yield* events;
  }
}

/** One space after the colon belongs to the framing. */
const value = (line: string, field: string): string => line.slice(field.length).replace(/^ /, "");
