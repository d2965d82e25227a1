/** Reads server-sent events from the body of a fetch. Made for our streams: `id:` and one `data:` line per event. */
import type { ByteStream } from "./fetch.ts";

export interface ServerSentEvent {
  readonly id: string | null;
  /** Null for a frame that only moves the cursor. */
  readonly data: string | null;
}

/** A bound for what may come without an end of line, so that a broken server cannot fill memory. */
const MAX_PENDING = 256 * 1024 * 1024;

export async function* readServerSentEvents(body: ByteStream): AsyncGenerator<ServerSentEvent[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = openParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done === true) return;
      const events = parser(decoder.decode(value, { stream: true }));
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Gives the events that are complete after each piece of text. A cut one is never given. */
export function openParser(): (text: string) => ServerSentEvent[] {
  // Pieces of an unfinished line: joining them only once keeps very long lines linear.
  let pieces: string[] = [];
  let pending = 0;
  let id: string | null = null;
  let data: string[] = [];

  const onLine = (line: string, out: ServerSentEvent[]): void => {
    if (line === "") {
      if (id !== null || data.length > 0) out.push({ id, data: data.length === 0 ? null : data.join("\n") });
      id = null;
      data = [];
    } else if (line.startsWith("data:")) data.push(field(line, 5));
    else if (line.startsWith("id:")) id = field(line, 3);
  };

  return (text) => {
    const out: ServerSentEvent[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      let line = text.slice(start, end);
      if (pieces.length > 0) {
        line = pieces.join("") + line;
        pieces = [];
        pending = 0;
      }
      onLine(line.endsWith("\r") ? line.slice(0, -1) : line, out);
      start = end + 1;
    }
    if (start < text.length) {
      pieces.push(text.slice(start));
      pending += text.length - start;
      if (pending > MAX_PENDING) throw new Error("A server-sent event is longer than this client takes.");
    }
    return out;
  };
}

/** One space after the colon belongs to the format. */
const field = (line: string, from: number): string => line.slice(line[from] === " " ? from + 1 : from);
