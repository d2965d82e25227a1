/** Sends a prompt and follows its turn across cuts: nothing is lost, nothing comes twice, and the prompt runs once. */
import type { BudgetLimits } from "../protocol/budget.ts";
import type { EndReason, ErrorInfo, UniversalEvent } from "../protocol/events.ts";
import type { SentAttachment } from "../protocol/resources.ts";
import type { FetchAnswer } from "./fetch.ts";
import { followStream, type Http } from "./http.ts";
import { readServerSentEvents } from "./sse.ts";

export interface PromptOptions {
  /** Files that the daemon can read, or their content as base64. */
  readonly attachments?: readonly SentAttachment[] | undefined;
  /** `steer` goes into the running turn where the agent can; `queue` (the default) waits for its end. */
  readonly delivery?: "queue" | "steer" | undefined;
  /** A prompt sent again with the same key is not run again. */
  readonly idempotencyKey?: string | undefined;
  /** What its turn may use; at the limit it is stopped with reason `budget`. */
  readonly budget?: BudgetLimits | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface AskOptions extends PromptOptions {
  /** Whether the turn is aborted when `signal` fires (the default). `false`: it runs on, and nobody waits for it. */
  readonly abortTurn?: boolean | undefined;
  /** With the native line that caused each event, in `raw`. */
  readonly includeRaw?: boolean | undefined;
}

/** The turn did not complete, or the prompt never ran. */
export class TurnError extends Error {
  override readonly name = "TurnError";
  readonly reason: EndReason;
  readonly error: ErrorInfo | null;

  constructor(message: string, { reason, error = null }: { reason: EndReason; error?: ErrorInfo | null }) {
    super(message);
    this.reason = reason;
    this.error = error;
  }
}

export const sessionPath = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`;

/** A signal that never fires stands for none. */
const never = (): AbortSignal => new AbortController().signal;

interface Follow {
  readonly http: Http;
  readonly id: string;
  readonly after?: number | undefined;
  readonly includeRaw?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function* followSession({
  http,
  id,
  after = 0,
  includeRaw,
  signal = never(),
}: Follow): AsyncGenerator<UniversalEvent> {
  const batches = followStream({
    http,
    path: `${sessionPath(id)}/events/sse`,
    query: { include_raw: includeRaw },
    lastEventId: String(after),
    signal,
  });
  for await (const batch of batches) {
    for (const { data } of batch) if (data !== null) yield JSON.parse(data);
  }
}

export interface Ask {
  readonly http: Http;
  readonly id: string;
  readonly text: string;
  readonly options: AskOptions;
}

/** The prompt carries a key, so that asking again after a cut continues the same turn instead of running it twice. */
export async function* askSession({ http, id, text, options }: Ask): AsyncGenerator<UniversalEvent> {
  const { signal, abortTurn = true } = options;
  signal?.throwIfAborted();
  const keyed = { ...options, idempotencyKey: options.idempotencyKey ?? randomId() };
  const ask = { http, id, text, options: keyed };
  try {
    yield* turnOf(ask);
  } catch (error) {
    if (signal?.aborted === true && abortTurn) await abortPrompt(ask);
    throw error;
  }
}

/** The same key gives the same prompt, also where the answer to the first request was not awaited. */
async function abortPrompt({ http, id, text, options }: Ask): Promise<void> {
  const path = `${sessionPath(id)}/messages`;
  const { promptId } = await sendPrompt({ http, path, text, options: { ...options, signal: undefined } });
  await http.request(`${sessionPath(id)}/abort`, { method: "POST", body: { promptId } });
}

async function* turnOf(ask: Ask): AsyncGenerator<UniversalEvent> {
  const { http, id, text, options } = ask;
  const signal = options.signal ?? never();
  let last = 0;
  let turnId: string | null = null;
  const { includeRaw } = options;
  const path = `${sessionPath(id)}/messages/stream`;
  const { response } = await sendPrompt({ http, path, text, options, query: { include_raw: includeRaw } });
  if (response.body === null) return;
  try {
    for await (const batch of readServerSentEvents(response.body)) {
      for (const { data } of batch) {
        if (data === null) continue;
        const event: UniversalEvent = JSON.parse(data);
        turnId ??= event.turn_id;
        last = event.sequence;
        yield event;
        if (event.type === "turn.ended") return;
      }
    }
  } catch (error) {
    if (signal.aborted) throw error;
  }
  if (turnId === null) return yield* turnAgain(ask);
  for await (const event of followSession({ http, id, after: last, signal, includeRaw })) {
    if (event.turn_id === turnId) yield event;
    if (event.type === "session.ended" || (event.type === "turn.ended" && event.turn_id === turnId)) return;
  }
  signal.throwIfAborted();
}

/** The stream ended before the turn began: find the turn by the prompt's id among all events of the session. */
async function* turnAgain({ http, id, text, options }: Ask): AsyncGenerator<UniversalEvent> {
  const { promptId } = await sendPrompt({ http, path: `${sessionPath(id)}/messages`, text, options });
  const { signal = never(), includeRaw } = options;
  let turnId: string | null = null;
  let place: "unknown" | "queued" | "left" = "unknown";
  for await (const event of followSession({ http, id, signal, includeRaw })) {
    if (event.type === "turn.started" && event.data.prompt_id === promptId) turnId = event.data.turn_id;
    if (turnId !== null && event.turn_id === turnId) yield event;
    if (event.type === "turn.ended" && event.turn_id === turnId) return;
    if (event.type === "session.ended") break;
    // A prompt that leaves the queue starts with the next event, or never.
    if (turnId === null && place === "left") break;
    if (event.type === "session.updated" && event.data.queue !== undefined) {
      const listed = event.data.queue.some((queued) => queued.prompt_id === promptId);
      place = listed ? "queued" : place === "queued" ? "left" : place;
    }
  }
  signal.throwIfAborted();
  if (turnId === null)
    throw new TurnError("The prompt was removed from the queue before it ran.", { reason: "aborted" });
}

interface PromptRequest {
  readonly http: Http;
  readonly path: string;
  readonly text: string;
  readonly options: PromptOptions;
  readonly query?: { readonly include_raw: boolean | undefined };
}

export async function sendPrompt({
  http,
  path,
  text,
  options,
  query = { include_raw: undefined },
}: PromptRequest): Promise<{ promptId: string; response: FetchAnswer }> {
  const { attachments, delivery, budget, idempotencyKey, signal } = options;
  const response = await http.request(path, {
    method: "POST",
    query,
    body: { message: text, attachments, delivery, budget },
    headers: { "idempotency-key": idempotencyKey },
    signal,
  });
  return { promptId: response.headers.get("franca-prompt-id") ?? "", response };
}

/** 128 random bits; `crypto.randomUUID` is missing on pages that are not secure. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
