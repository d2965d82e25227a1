/**
 * The SSE writer: bytes straight on the node response, many events per write. A reader that does not read is not
 * written to: its cursor waits, and continues from the log when the socket has drained.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** One for all: the engine would make an exception with a stack for every client that leaves. */
const LEFT = new Error("The client has left.");

const comment = (): string => ": heartbeat\n\n";

/** One event of a stream. */
export const frame = ({ id, data }: { id: string; data: string }): string => `id: ${id}\ndata: ${data}\n\n`;

export interface StreamOptions {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly headers?: Readonly<Record<string, string>>;
  readonly heartbeatMs: number;
  /** What a silent stream says; a comment where nothing else is given. */
  readonly heartbeat?: () => string;
  /** Aborted when the daemon stops. */
  readonly stopped: AbortSignal;
  /** Said before the first event, so that a client knows it is connected. */
  readonly greeting?: string;
}

export interface EventStream {
  /** Aborted when the client leaves or the daemon stops. */
  readonly signal: AbortSignal;
  /** Resolves when more may be written. */
  readonly write: (chunk: Buffer | string) => Promise<void> | undefined;
  /** Resolves when everything written so far is with the operating system, or when a signal fires. */
  readonly flushed: (deadline: AbortSignal) => Promise<void>;
}

/** Opens the stream, hands it to `pump`, and ends it when that returns. */
export async function streamEvents(
  options: StreamOptions,
  pump: (stream: EventStream) => Promise<void>,
): Promise<void> {
  const { incoming, outgoing } = options;
  const closed = new AbortController();
  const signal = AbortSignal.any([closed.signal, options.stopped]);
  const leave = (): void => closed.abort(LEFT);
  outgoing.on("close", leave);
  outgoing.on("error", leave);
  writeHead(options);
  if (incoming.method === "HEAD") {
    outgoing.end();
    return;
  }
  const heartbeat = setInterval(() => beat(outgoing, options.heartbeat ?? comment), options.heartbeatMs);
  const drained = waitForDrain(outgoing, signal);
  try {
    await pump({
      signal,
      write: (chunk) => (signal.aborted || writeTo(outgoing, chunk) ? undefined : drained()),
      flushed: (deadline) => flush(outgoing, AbortSignal.any([signal, deadline])),
    });
    outgoing.end();
  } catch (error) {
    // The status line is gone already: a cut connection is the only thing left to say.
    outgoing.destroy();
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(heartbeat);
  }
}

function writeHead({ outgoing, headers, greeting, incoming }: StreamOptions): void {
  // Small writes must leave at once, and a stream may be silent for hours.
  outgoing.socket?.setNoDelay(true);
  outgoing.socket?.setTimeout(0);
  outgoing.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    // Nobody asks anything else on this connection: it ends with the stream.
    connection: "close",
    ...headers,
  });
  if (incoming.method !== "HEAD") outgoing.write(greeting ?? ": connected\n\n");
}

/** A heartbeat is for silent streams: one that has bytes waiting needs none. */
function beat(outgoing: ServerResponse, heartbeat: () => string): void {
  if (outgoing.writableLength === 0 && !outgoing.writableEnded) outgoing.write(heartbeat());
}

/** False when it should be drained first. */
function writeTo(outgoing: ServerResponse, chunk: Buffer | string): boolean {
  const hasRoom = outgoing.write(chunk);
  // Node would keep it until everything else of this turn of the loop is done, the answer to the prompt among it.
  outgoing.socket?.uncork();
  return hasRoom;
}

/** The socket calls back in the order of the writes: a write of nothing ends when those before it have ended. */
function flush({ socket }: ServerResponse, signal: AbortSignal): Promise<void> {
  if (socket === null || socket.writableLength === 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    socket.write("", () => resolve());
  });
}

/** Resolves when more may be written, or the client has left; the writer looks at the signal. One wait at a time. */
function waitForDrain(outgoing: ServerResponse, signal: AbortSignal): () => Promise<void> {
  let wake = (): void => {};
  // For the whole stream: to listen and to stop listening for each wait takes longer than the writes.
  outgoing.on("drain", () => wake());
  signal.addEventListener("abort", () => wake());
  return () =>
    new Promise((resolve) => {
      wake = resolve;
      if (signal.aborted) resolve();
    });
}
