/** Reads a stream of server-sent events: bounded lines, several data lines joined, comments passed over. */
import { defined } from "../../../core/defined.ts";
import { LINE_LIMIT, type OverlongLine, splitLines } from "../lines.ts";

/** How much of an overlong event is kept. */
const EXCERPT_LENGTH = 1024;

export interface ServerEvent {
  readonly id: string | null;
  readonly data: string;
  /** Set when the event was longer than a line may be: `data` is then empty. */
  readonly overlong: Omit<OverlongLine, "number"> | null;
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
      ...defined({ "last-event-id": lastEventId ?? undefined }),
    },
    signal,
  });
  if (!response.ok || response.body === null) throw new Error(`it answered ${response.status}`);
  onOpen();

  let ready: ServerEvent[] = [];
  let data: string[] = [];
  let length = 0;
  let overlong: ServerEvent["overlong"] = null;
  let id: string | null = null;
  const finish = (): void => {
    if (overlong !== null) ready.push({ id, data: "", overlong });
    else if (data.length > 0) ready.push({ id, data: data.join("\n"), overlong });
    data = [];
    length = 0;
    overlong = null;
  };
  // Many lines may be one event, so the bound of a line is the bound of their sum.
  const keep = (line: string): void => {
    length += line.length + 1;
    if (overlong !== null) overlong = { ...overlong, bytes: length };
    else if (length <= LINE_LIMIT) data.push(line);
    else overlong = { excerpt: data.join("\n").slice(0, EXCERPT_LENGTH), bytes: length, limit: LINE_LIMIT };
    if (overlong !== null) data = [];
  };
  const splitter = splitLines({
    keepBlank: true,
    onLine(raw) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") finish();
      else if (line.startsWith("data:")) keep(value(line, "data:"));
      else if (line.startsWith("id:")) id = value(line, "id:");
    },
    onOverlong(line) {
      overlong ??= { ...line, excerpt: value(line.excerpt, "data:") };
    },
  });
  try {
    for await (const chunk of response.body) {
      splitter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      const events = ready;
      ready = [];
      yield* events;
    }
  } finally {
    splitter.drop();
  }
}

/** One space after the colon belongs to the framing. */
const value = (line: string, field: string): string => line.slice(field.length).replace(/^ /, "");
