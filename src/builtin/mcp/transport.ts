/** How messages get to an MCP server and back: a process on standard input and output, or HTTP with streams. */

import { parseJson } from "../../core/json.ts";
import type { McpServer } from "../../core/launch.ts";
import { RUN_VARIABLE, SESSION_VARIABLE } from "../../runtime/agent/environment.ts";
import { startProcess } from "../../runtime/agent/process.ts";
import type { OutboundFetch } from "../../runtime/outbound/fetch.ts";
import type { SessionContext } from "../session-context.ts";

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface Transport {
  /** Sends a message. What answers it, or comes with the answer, goes to `onMessage`. */
  readonly send: (message: object, signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface TransportOptions {
  readonly context: Pick<SessionContext, "directory" | "commandEnvironment" | "processes" | "view" | "sessionId">;
  readonly server: McpServer;
  readonly fetch: OutboundFetch;
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void;
  /** The server has gone. */
  readonly onGone: (why: string) => void;
}

export function openTransport(options: TransportOptions): Promise<Transport> {
  const { command, url } = options.server;
  if (command !== undefined) return startServer(options, command);
  if (url !== undefined) return Promise.resolve(overHttp(options, url));
  throw new Error("It needs a command or a url.");
}

async function startServer(
  { context, server, onMessage, onGone }: TransportOptions,
  command: string,
): Promise<Transport> {
  const { directory, commandEnvironment, processes, view, sessionId } = context;
  const runId = await processes.begin();
  const variables: Readonly<Record<string, string>> = { ...commandEnvironment, ...server.env };
  const asked = { command, args: server.args ?? [], directory, path: variables.PATH };
  const program = await view.start(asked).catch((error: unknown) => {
    processes.ended(runId);
    throw error;
  });
  const hear = (text: string): void => {
    for (const line of text.split("\n")) {
      const message = parsed(line);
      if (message !== null) onMessage(message);
    }
  };
  const child = startProcess({
    ...program,
    environment: { ...variables, [SESSION_VARIABLE]: sessionId, [RUN_VARIABLE]: runId },
    runId,
    onText: hear,
    onOverlong: () => onGone("it sent a line that is too long"),
    onExit: ({ code, signal, message, stderr }) => {
      processes.ended(runId);
      const how = message ?? (signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`);
      onGone(`${how}${stderr === undefined ? "" : ` (${stderr.tail.trim().slice(-300)})`}`);
    },
    onStuck: () => {},
  });
  return {
    send: async (message) => child.write(`${JSON.stringify(message)}\n`),
    close: () => child.stop(),
  };
}

/** What is no JSON object is the server's own noise. */
function parsed(line: string): Readonly<Record<string, unknown>> | null {
  if (line.trim() === "") return null;
  try {
    const value = parseJson(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function overHttp({ server, fetch, onMessage }: TransportOptions, url: string): Transport {
  let scope: string | null = null;
  return {
    async send(message, signal) {
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...server.headers,
        ...(scope === null ? {} : { "mcp-session-id": scope }),
      };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message), signal });
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      scope ??= response.headers.get("mcp-session-id");
      for await (const answer of messagesIn(response)) onMessage(answer);
    },
    close: async () => {},
  };
}

async function* messagesIn(response: Response): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!isStream || response.body === null) {
    const message = parsed(await response.text());
    if (message !== null) yield message;
    return;
  }
  const decoder = new TextDecoder();
  let pending = "";
  for await (const chunk of response.body) {
    pending += decoder.decode(chunk, { stream: true });
    const frames = pending.split(/\r?\n\r?\n/);
    pending = frames.pop() ?? "";
    if (pending.length > FRAME_LIMIT) throw new Error("it sent an event that is too long");
    for (const frame of frames) {
      const message = parsed(dataIn(frame));
      if (message !== null) yield message;
    }
  }
}

const FRAME_LIMIT = 32 * 1024 * 1024;

const dataIn = (frame: string): string =>
  frame
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith("data:") ? [line.slice("data:".length)] : []))
    .join("\n");
