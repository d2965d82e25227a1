/** Requests to a daemon: addresses, the token, problems as errors, streams that reconnect where they were cut. */
import { ApiError, type ErrorCode, errorStatus } from "../protocol/errors.ts";
import { locate } from "./address.ts";
import { findCredential, ImpostorError } from "./credential.ts";
import { defaultFolder, isNode, processAt } from "./data-folder.ts";
import type { Fetch, FetchAnswer, FetchInit } from "./fetch.ts";
import { readServerSentEvents, type ServerSentEvent } from "./sse.ts";
import { checkOptions, checkUrl, shown, UsageError } from "./usage.ts";

export interface ConnectOptions {
  /**
   * Where the daemon listens, for example `http://127.0.0.1:7717`. Absent: FRANCA_URL, else the daemon that runs on
   * the data folder; in a browser, the page's own origin.
   */
  readonly url?: string | undefined;
  /**
   * The daemon's token, or a page credential. Absent: on Node, FRANCA_TOKEN, else the token of the data folder, for a
   * daemon on this machine. `false`: none is sent.
   */
  readonly token?: string | false | undefined;
  /** The data folder (FRANCA_DATA, else the user's own). */
  readonly data?: string | undefined;
  /**
   * Starts a daemon in the background when none runs on the data folder. `true`: with the `franca` that is installed;
   * text: with the program at this path.
   */
  readonly start?: boolean | string | undefined;
  /** Instead of the platform's own. */
  readonly fetch?: Fetch | undefined;
}

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Fields;
  readonly query?: Fields;
  readonly signal?: AbortSignal | undefined;
}

/** Headers or parameters by name; one that is `undefined` is not sent. */
type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Http {
  readonly request: (path: string, options?: RequestOptions) => Promise<FetchAnswer>;
  /** The answer as JSON; its shape is the route's promise. */
  readonly json: <T>(path: string, options?: RequestOptions) => Promise<T>;
}

/**
 * After so much silence the daemon must prove again that it is ours: another program may have its port by now. A daemon
 * that the data folder knows must do so as soon as its process is another one.
 */
const PROVEN_MS = 1_000;

/** Where requests go, and with which token. */
interface Place {
  readonly base: string;
  readonly token: string | null;
  /** The process that proved itself, where it is known. */
  readonly process: string | null;
}

export function openHttp(options: ConnectOptions): Http {
  checkConnect(options);
  const { fetch = globalThis.fetch } = options;
  let found: Promise<Place> | null = null;
  let heardAt = Number.NEGATIVE_INFINITY;
  const place = async (): Promise<Place> => {
    const { url: base, token } = await locate(options);
    const credential = { base, token: options.token ?? token, data: options.data, fetch };
    // Read before the proof, so that it is not a later process that proved itself.
    const process = processOf(base);
    return { base, process, token: await reach(base, () => findCredential(credential)) };
  };
  const processOf = (base: string) => (isNode() ? processAt(base, options.data ?? defaultFolder()) : null);
  const current = async (path: string): Promise<Place> => {
    if (path === "/v1/health") return { base: (await locate(options)).url, token: null, process: null };
    const known = performance.now() - heardAt > PROVEN_MS ? null : await found;
    if (known !== null && processOf(known.base) === known.process) return known;
    found = place();
    return found;
  };
  const request = async (path: string, init: RequestOptions = {}): Promise<FetchAnswer> => {
    const { method = "GET", body, headers, query = {}, signal = null } = init;
    try {
      const { base, token } = await current(path);
      const authorization = token === null ? undefined : `Bearer ${token}`;
      const type = body === undefined ? undefined : "application/json";
      const response = await send(
        fetch,
        { base, path: `${path}${queryText(query)}` },
        {
          method,
          headers: Object.fromEntries(entriesOf({ authorization, "content-type": type, ...headers })),
          body: body === undefined ? null : JSON.stringify(body),
          signal,
        },
      );
      heardAt = performance.now();
      if (response.ok) return response;
      throw await problemOf(response);
    } catch (error) {
      // A daemon that could not be asked is looked for again by the next request.
      if (!(error instanceof ApiError)) found = null;
      throw error;
    }
  };
  return { request, json: async (path, init) => JSON.parse(await (await request(path, init)).text()) };
}

function checkConnect(options: unknown): asserts options is ConnectOptions {
  checkOptions(options, { of: "connect", known: ["url", "token", "data", "start", "fetch"] });
  if (typeof options !== "object" || options === null) return;
  if ("url" in options && options.url !== undefined) checkUrl(options.url);
  const token = "token" in options ? options.token : undefined;
  if (token !== undefined && token !== false && (typeof token !== "string" || token.trim() === "")) {
    throw new UsageError(`connect: \`token\` must be text that is not empty, or false, not ${shown(token)}.`);
  }
}

/** The daemon could not be reached at all: there is no answer to read a code from. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

interface Target {
  readonly base: string;
  readonly path: string;
}

async function send(fetch: Fetch, { base, path }: Target, init: FetchInit): Promise<FetchAnswer> {
  return reach(base, () => fetch(`${base}${path}`, init), init.signal);
}

async function reach<T>(base: string, work: () => Promise<T>, signal?: AbortSignal | null): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted === true || error instanceof ApiError || error instanceof ImpostorError) throw error;
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new UnreachableError(
      `No daemon answers at ${base}: ${reason.trim()}. \`franca daemon status\` says whether one runs and where; ` +
        "`franca daemon start` starts one.",
      { cause: error },
    );
  }
}

function queryText(query: Fields): string {
  const entries = entriesOf(query);
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries)}`;
}

const entriesOf = (fields: Fields): [string, string][] =>
  Object.entries(fields).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );

async function problemOf(response: FetchAnswer): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const { code, detail } = parseProblem(text);
  if (code !== null) return new ApiError(code, detail);
  const start = text.slice(0, 200);
  return new ApiError(
    "stream_error",
    `The server answered ${response.status}, and not as a Franca daemon does. Check the address. It wrote: ${start}`,
  );
}

function parseProblem(text: string): { code: ErrorCode | null; detail: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "code" in value && "detail" in value) {
      return { code: isErrorCode(value.code) ? value.code : null, detail: String(value.detail) };
    }
  } catch {
    // Not ours: something else answers at this address.
  }
  return { code: null, detail: text };
}

const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === "string" && Object.hasOwn(errorStatus, value);

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

export interface StreamRequest {
  readonly http: Http;
  readonly path: string;
  readonly query: NonNullable<RequestOptions["query"]>;
  /** The id of the last event seen; null to begin as the query says. */
  readonly lastEventId: string | null;
  readonly signal: AbortSignal;
}

/** Follows a stream for ever: after a cut it goes on behind the last event seen. Ends when what it follows is gone. */
export async function* followStream(options: StreamRequest): AsyncGenerator<ServerSentEvent[]> {
  const { http, path, query, signal } = options;
  let last = options.lastEventId;
  let failures = 0;
  let connected = false;
  while (!signal.aborted) {
    try {
      const headers = { accept: "text/event-stream", "last-event-id": last ?? undefined };
      const { body } = await http.request(path, { headers, query, signal });
      connected = true;
      if (body === null) throw new UnreachableError("The stream has no body.");
      for await (const events of readServerSentEvents(body)) {
        failures = 0;
        // Before it is yielded: a caller that leaves the loop here has seen it.
        last = events.findLast(({ id }) => id !== null)?.id ?? last;
        yield events;
      }
    } catch (error) {
      if (signal.aborted) return;
      // What was followed is gone since: that is an end, not a mistake of the caller.
      if (error instanceof ApiError && error.status < 500) {
        if (connected && error.status === 404) return;
        throw error;
      }
      if (!connected && error instanceof UnreachableError) throw error;
    }
    failures += 1;
    await pause({ ms: Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)) * jitter(), signal });
  }
}

/** Many clients of one daemon that restarts should not all come back in the same moment. */
const jitter = (): number => 0.5 + Math.random() / 2;

function pause({ ms, signal }: { ms: number; signal: AbortSignal }): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
