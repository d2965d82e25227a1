/** One session, as a client sees it: prompts, answers, and its events for as long as one cares to listen. */
import type { Attachment, PermissionReply } from "../protocol/commands.ts";
import type { SessionStatus, UniversalEvent } from "../protocol/events.ts";
import type { CreatedSession, EventPage, NativePage, SessionDetail, UpdateSession } from "../protocol/resources.ts";
import { followStream, type Http } from "./http.ts";
import { readServerSentEvents } from "./sse.ts";

export interface PromptOptions {
  readonly attachments?: readonly Attachment[];
  /** `steer` goes into the running turn where the agent can; `queue` (the default) waits for its end. */
  readonly delivery?: "queue" | "steer";
  /** A prompt sent again with the same key is not run again. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export interface FollowOptions {
  /** The sequence after which to begin; 0, the beginning, when absent. */
  readonly after?: number;
  readonly includeRaw?: boolean;
  readonly signal?: AbortSignal;
}

export interface PageOptions {
  readonly offset?: number;
  readonly limit?: number;
}

export interface Session {
  readonly id: string;
  /** Status, open requests, queue, todos, usage and the last items. */
  readonly get: (page?: { readonly itemsBefore?: string; readonly limit?: number }) => Promise<SessionDetail>;
  readonly status: () => Promise<SessionStatus>;
  /** Sends a prompt and gives its id; does not wait for the turn. */
  readonly prompt: (text: string, options?: PromptOptions) => Promise<string>;
  /** Sends a prompt and gives the events of its turn, from `turn.started` to `turn.ended`, across reconnects. */
  readonly ask: (text: string, options?: PromptOptions) => AsyncIterable<UniversalEvent>;
  readonly abort: (options?: { readonly clearQueue?: boolean }) => Promise<void>;
  readonly replyPermission: (
    permissionId: string,
    reply: PermissionReply,
    options?: { readonly message?: string },
  ) => Promise<void>;
  readonly replyQuestion: (questionId: string, answers: readonly (readonly string[])[]) => Promise<void>;
  readonly rejectQuestion: (questionId: string, options?: { readonly message?: string }) => Promise<void>;
  /** History and then what comes. Reconnects from the last sequence: nothing lost, nothing twice. */
  readonly events: (options?: FollowOptions) => AsyncIterable<UniversalEvent>;
  readonly listEvents: (options?: PageOptions & { readonly includeRaw?: boolean }) => Promise<EventPage>;
  readonly listNative: (options?: PageOptions) => Promise<NativePage>;
  readonly update: (change: UpdateSession) => Promise<void>;
  readonly compact: () => Promise<void>;
  /** Gives the id of the new session. */
  readonly fork: (options?: { readonly sessionId?: string }) => Promise<string>;
  readonly stopContinuing: () => Promise<void>;
  readonly terminate: () => Promise<void>;
  readonly delete: () => Promise<void>;
}

export const sessionPath = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`;

export function openSession(http: Http, id: string): Session {
  const path = sessionPath(id);
  const post = async (action: string, body: object = {}): Promise<void> => {
    await http.request(`${path}/${action}`, { method: "POST", body });
  };
  const get = (page: object = {}) => http.json<SessionDetail>(path, { query: { ...page } });
  const requestOf = (kind: "permissions" | "questions", requestId: string) =>
    `${kind}/${encodeURIComponent(requestId)}`;
  return {
    id,
    get,
    status: async () => (await get({ limit: 0 })).status,
    prompt: async (text, options = {}) =>
      (await sendPrompt({ http, path: `${path}/messages`, text, options })).promptId,
    ask: (text, options = {}) => askSession({ http, id, text, options }),
    abort: (options = {}) => post("abort", options),
    replyPermission: (permissionId, reply, options = {}) =>
      post(`${requestOf("permissions", permissionId)}/reply`, { reply, ...options }),
    replyQuestion: (questionId, answers) => post(`${requestOf("questions", questionId)}/reply`, { answers }),
    rejectQuestion: (questionId, options = {}) => post(`${requestOf("questions", questionId)}/reject`, options),
    events: (options = {}) => followSession({ http, id, ...options }),
    listEvents: ({ includeRaw, ...page } = {}) =>
      http.json(`${path}/events`, { query: { ...page, include_raw: includeRaw } }),
    listNative: (page = {}) => http.json(`${path}/native`, { query: { ...page } }),
    update: async (change) => void (await http.request(path, { method: "PATCH", body: change })),
    compact: () => post("compact"),
    fork: async (options = {}) => {
      const forked = await http.json<{ sessionId: string }>(`${path}/fork`, { method: "POST", body: options });
      return forked.sessionId;
    },
    stopContinuing: () => post("stop-continuing"),
    terminate: () => post("terminate"),
    delete: async () => void (await http.request(path, { method: "DELETE" })),
  };
}

export const createSession = (http: Http, id: string, body: object): Promise<CreatedSession> =>
  http.json(sessionPath(id), { method: "POST", body });

/** A signal that never fires stands for none. */
const never = (): AbortSignal => new AbortController().signal;

async function* followSession({
  http,
  id,
  after = 0,
  includeRaw,
  signal = never(),
}: FollowOptions & { readonly http: Http; readonly id: string }): AsyncGenerator<UniversalEvent> {
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

interface Ask {
  readonly http: Http;
  readonly id: string;
  readonly text: string;
  readonly options: PromptOptions;
}

/** The prompt carries a key, so that asking again after a cut continues the same turn instead of running it twice. */
async function* askSession({ http, id, text, options }: Ask): AsyncGenerator<UniversalEvent> {
  const signal = options.signal ?? never();
  const keyed = { ...options, idempotencyKey: options.idempotencyKey ?? randomId() };
  let last = 0;
  let turnId: string | null = null;
  const { response } = await sendPrompt({ http, path: `${sessionPath(id)}/messages/stream`, text, options: keyed });
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
  if (turnId === null) return yield* turnAgain({ http, id, text, options: keyed });
  for await (const event of followSession({ http, id, after: last, signal })) {
    if (event.turn_id === turnId) yield event;
    if (event.type === "session.ended" || (event.type === "turn.ended" && event.turn_id === turnId)) return;
  }
}

/** The stream was cut before the turn began: find the turn by the prompt's id in all that the session says. */
async function* turnAgain({ http, id, text, options }: Ask): AsyncGenerator<UniversalEvent> {
  const { promptId } = await sendPrompt({ http, path: `${sessionPath(id)}/messages`, text, options });
  let turnId: string | null = null;
  for await (const event of followSession({ http, id, signal: options.signal ?? never() })) {
    if (event.type === "turn.started" && event.data.prompt_id === promptId) turnId = event.data.turn_id;
    if (turnId !== null && event.turn_id === turnId) yield event;
    if (event.type === "session.ended" || (event.type === "turn.ended" && event.turn_id === turnId)) return;
  }
}

interface PromptRequest {
  readonly http: Http;
  readonly path: string;
  readonly text: string;
  readonly options: PromptOptions;
}

async function sendPrompt({
  http,
  path,
  text,
  options,
}: PromptRequest): Promise<{ promptId: string; response: Response }> {
  const { attachments, delivery, idempotencyKey, signal } = options;
  const response = await http.request(path, {
    method: "POST",
    body: { message: text, attachments, delivery },
    headers: { "idempotency-key": idempotencyKey },
    signal,
  });
  return { promptId: response.headers.get("franca-prompt-id") ?? "", response };
}

/** 128 random bits; `crypto.randomUUID` is missing on pages that are not secure. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
